"""Programs that attack their compiler, or use it to read what they must not."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from agnostics.types.language import Language
from agnostics.types.task import Task, Test
from agnostics.types.verification import Verification
from agnostics.verify import Verifier

Attack = Callable[..., Verification]
OpenVerifier = Callable[..., Verifier]

KEPT = 4096
"""The size to which a compiler's output is cut."""
DAEMON = "sh -c '(setsid sleep 1000 &); touch /tmp/left; gcc -w -o prog snippet.c'"
ALONE_C = """
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int main() {
    int found = 0;
    DIR *processes = opendir("/proc");
    for (struct dirent *entry; (entry = readdir(processes));) found += atoi(entry->d_name) > 1;
    found--; /* this one */
    printf("%d", found + 10 * !access("/tmp/left", 0));
}
"""

DEEP = "sh -c 'gcc -w -o prog snippet.c && ./prog make'"
NOTES_C = """
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
int main(int count, char **arguments) {
    int written = 0;
    for (int depth = 0; depth < 60; depth++) {
        if (count > 1) mkdir("NAME", 0777);
        if (chdir("NAME")) printf("no folder at %d ", depth);
        if (count == 1) written += open("note", O_CREAT | O_WRONLY, 0600) >= 0;
    }
    printf("%d", written);
}
"""


@pytest.mark.programs(
    "include_zero", "include_urandom", "include_itself", "grow_while_compiling", "endless_diagnostics", "huge_object"
)
def test_a_compiler_under_attack_is_a_compile_error_in_time(attack: Attack, program: str) -> None:
    result = attack(program, compile_s=0.5)
    assert result.verdict == "compile_error"
    assert result.compile
    assert len(result.compile.message) <= KEPT + 100
    assert result.compile.cpu_ms < 1000
    assert result.compile.wall_ms < 11_000


@pytest.mark.programs("read_while_compiling")
def test_a_compiler_reads_nothing_of_the_harness(attack: Attack, program: str) -> None:
    result = attack(program)
    assert result.verdict == "compile_error"
    assert result.compile
    assert "/proc/1/" in result.compile.message
    assert "PATH=" not in result.compile.message


def test_a_compiler_leaves_neither_a_daemon_nor_files(
    open_verifier: OpenVerifier, languages: dict[str, Language]
) -> None:
    c = languages["c"].model_copy(update={"compile": DAEMON})
    with open_verifier(1) as verifier:
        result = verifier.verify(c, ALONE_C, Task(id="alone", tests=(Test(input="", output="0"),) * 2))
    assert result.accepted, [test.stdout for test in result.tests]


@pytest.mark.parametrize("length", [1, 255])
def test_folders_of_a_compiler_cannot_be_written_to_however_deep(
    open_verifier: OpenVerifier, languages: dict[str, Language], length: int
) -> None:
    name = "d" * length
    c = languages["c"].model_copy(update={"compile": DEEP})
    task = Task(id="deep", tests=(Test(input="", output="0"),) * 2)
    with open_verifier(1) as verifier:
        deep = verifier.verify(c, NOTES_C.replace("NAME", name), task)
        after = verifier.verify(languages["c"], ALONE_C, task)
    assert deep.accepted, [test.stdout for test in deep.tests] or deep.error
    assert (after.verdict, after.attempts) == ("accepted", 1)
