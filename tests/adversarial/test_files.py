"""Programs that leave files, and programs that try to change what others rely on."""

from __future__ import annotations

from typing import Any

import pytest
from agnostics.language import Language
from agnostics.task import Task, Test
from agnostics.verify import Verifier

LITTER_C = r"""
#include <fcntl.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
static void litter(const char *where) {
    if (chdir(where)) return;
    mkfifo("fifo", 0600);
    symlink("/etc", "link"), symlink("..", "up");
    mkdir("dark", 0700), mkdir("dark/inner", 0700), close(creat("dark/inner/file", 0600));
    chmod("dark/inner", 0), chmod("dark", 0);
    mkdir("tree", 0700), close(creat("tree/file", 0400)), chmod("tree", 0500);
    close(creat(".hidden", 0)), close(creat("-rf", 0)), close(creat("new\nline", 0));
    link(".hidden", "hard");
    struct sockaddr_un address = {AF_UNIX, "socket"};
    bind(socket(AF_UNIX, SOCK_STREAM, 0), (void *)&address, sizeof address);
}
int main() {
    if (access("/w/fifo", F_OK) == 0 || access("/tmp/fifo", F_OK) == 0) { puts("left over"); return 0; }
    litter("/w"), litter("/tmp");
    puts("42");
}
"""
DEEP_C = r"""
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
int main() { for (int i = 0; i < 3000; i++) { mkdir("deeper", 0700); chdir("deeper"); } puts("42"); }
"""
MANY_C = r"""
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>
int main() {
    char name[32];
    for (int i = 0; i < 1000000; i++) {
        sprintf(name, "/tmp/%d", i);
        int file = creat(name, 0600);
        if (file < 0) break;
        close(file);
    }
    puts("42");
}
"""
FULL_C = r"""
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>
static char block[1 << 20];
int main() {
    char name[32];
    signal(SIGXFSZ, SIG_IGN);
    for (int i = 0; i < 1000; i++) {
        sprintf(name, "/tmp/%d", i);
        int file = creat(name, 0600);
        if (write(file, block, sizeof block) < 1) break;
        close(file);
    }
    puts("42");
}
"""


@pytest.mark.parametrize("program", [LITTER_C, DEEP_C], ids=["litter", "deep"])
def test_what_a_test_leaves_is_gone_before_the_next(attack: Any, program: str) -> None:
    assert attack("c", program, output="42", tests=3).accepted


def test_a_million_files_run_out_of_room_and_are_gone(attack: Any) -> None:
    assert attack("c", MANY_C, output="42", run_s=10.0).accepted


def test_a_full_disk_is_the_programs_own_trouble(attack: Any) -> None:
    assert attack("c", FULL_C, output="42", run_s=10.0, memory_mb=512).accepted


def test_lua_leaves_nothing_between_tests_either(attack: Any) -> None:
    program = "if io.open('mark') or io.open('/tmp/mark') then print('left over') return end "
    program += "io.open('mark', 'w'):write('x') io.open('/tmp/mark', 'w'):write('x') print(42)"
    assert attack("lua", program, output="42", tests=3).accepted


def test_a_program_may_use_files_of_its_own(attack: Any) -> None:
    program = "local f = io.open('notes', 'w') f:write('42') f:close() print(io.open('notes'):read('*a'))"
    assert attack("lua", program, output="42").accepted


OVERWRITE_C = r"""
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
static const char *targets[] = {"/w/prog", "/w/snippet.c", "/harness", "/usr/bin/luajit", "/usr/bin/gcc", "/bin/sh",
                                "/lib/x", "/etc/x", "/x", "/dev/x", "/dev/shm/x", "/proc/sys/kernel/core_pattern",
                                "/run/x", "/var/tmp/x", "/sys/x", "/cgroup/memory.limit_in_bytes",
                                "/sys/fs/cgroup/memory/memory.limit_in_bytes"};
int main() {
    int done = 0;
    for (unsigned i = 0; i < sizeof targets / sizeof *targets; i++) {
        const char *path = targets[i];
        int file = open(path, O_WRONLY | O_CREAT, 0777);
        if (file >= 0) printf("wrote %s\n", path), done++;
        if (!chmod(path, 0777)) printf("chmod %s\n", path), done++;
        if (!rename(path, "/tmp/moved")) printf("moved %s\n", path), done++;
        if (!unlink(path)) printf("removed %s\n", path), done++;
    }
    printf("%d\n", done);
}
"""


def test_nothing_that_others_rely_on_can_be_written(attack: Any) -> None:
    result = attack("c", OVERWRITE_C, output="0", tests=2)
    assert result.accepted, result.tests[0].stdout


def test_a_lua_program_cannot_change_its_own_source(attack: Any) -> None:
    program = "local f = io.open('snippet.lua', 'r+') os.remove('snippet.lua') print(f == nil)"
    assert attack("lua", program, output="true", tests=2).accepted


def test_one_program_finds_nothing_of_the_one_before(single: Verifier, languages: dict[str, Language]) -> None:
    write = "io.open('/tmp/secret', 'w'):write('42') io.open('secret', 'w'):write('42') print(1)"
    read = "print((io.open('/tmp/secret')), (io.open('secret')))"
    assert single.verify(languages["lua"], write, Task(id="t", tests=(Test(input="", output="1"),))).accepted
    assert single.verify(languages["lua"], read, Task(id="t", tests=(Test(input="", output="nil nil"),))).accepted
