"""What holds after every attack: the slot is as it was, and the next honest program is accepted at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from agnostics.language import Language
from agnostics.task import LimitOverrides, Task, Test
from agnostics.verification import Verification
from agnostics.verify import Verifier

PROBE = r"""
#include <dirent.h>
#include <stdio.h>
#include <string.h>
static void list(const char *path, int processes) {
    DIR *folder = opendir(path);
    struct dirent *entry;
    int count = 0;
    while (folder && (entry = readdir(folder)))
        if (processes ? entry->d_name[0] >= '0' && entry->d_name[0] <= '9' : entry->d_name[0] != '.' ||
            strlen(entry->d_name) > 2) {
            count++;
            if (!processes && strcmp(entry->d_name, "prog") && strcmp(entry->d_name, "snippet.c"))
                printf("%s/%s ", path, entry->d_name);
        }
    if (processes) printf("processes %d ", count);
    if (folder) closedir(folder);
}
static void lines(const char *path) {
    FILE *file = fopen(path, "r");
    char line[1000];
    int count = -1;
    while (file && fgets(line, sizeof line, file)) count++;
    if (count > 0) printf("%s %d ", path, count);
}
int main(void) {
    list("/w", 0), list("/tmp", 0), list("/dev/shm", 0), list("/dev/mqueue", 0), list("/proc", 1);
    lines("/proc/sysvipc/shm"), lines("/proc/sysvipc/sem"), lines("/proc/sysvipc/msg");
}
"""
CLEAN = "processes 2"
"""The harness and the probe itself; nothing in the folders."""

Attack = Callable[..., Verification]


@pytest.fixture
def attack(single: Verifier, languages: dict[str, Language]) -> Iterator[Attack]:
    """Runs a program in the one slot; afterwards the slot must be as it was."""

    def run(
        language: str, program: str, output: str = "", given: str = "", tests: int = 1, **limits: float
    ) -> Verification:
        limits = {"run_s": 1.0, "memory_mb": 256, **limits}
        task = Task(
            id="attack", tests=(Test(input=given, output=output),) * tests, limits=LimitOverrides.model_validate(limits)
        )
        return single.verify(languages[language], program, task, stop_on_failure=False)

    yield run
    task = Task(id="probe", tests=(Test(input="", output=CLEAN),) * 2)
    probe = single.verify(languages["c"], PROBE, task)
    assert probe.accepted, [test.stdout for test in probe.tests] or probe.error
    assert probe.attempts == 1
