"""Programs that fight with processes and signals."""

from __future__ import annotations

from typing import Any

import pytest

FORK_BOMB_C = "#include <unistd.h>\nint main(){for(;;)fork();}"
THREAD_BOMB_C = """
#include <pthread.h>
#include <unistd.h>
void *f(void *x) { pause(); return 0; }
int main() { pthread_t t; for (;;) pthread_create(&t, 0, f, 0); }
"""
STUBBORN_BOMB_C = """
#include <signal.h>
#include <unistd.h>
int main() { for (int s = 1; s < 32; s++) signal(s, SIG_IGN); for (;;) { fork(); setsid(); } }
"""
FFI = "local ffi = require('ffi') local C = ffi.C ffi.cdef[[int fork(void); int setsid(void); int kill(int, int);"
FFI += " int getppid(void); int getpid(void); int usleep(unsigned); void (*signal(int, void (*)(int)))(int);]] "


@pytest.mark.parametrize(
    ("language", "program"),
    [("c", FORK_BOMB_C), ("c", THREAD_BOMB_C), ("c", STUBBORN_BOMB_C), ("lua", FFI + "while true do C.fork() end")],
    ids=["fork-c", "threads-c", "stubborn-c", "fork-lua"],
)
def test_a_bomb_ends_within_its_limit(attack: Any, language: str, program: str) -> None:
    result = attack(language, program, output="never")
    assert result.verdict in {"runtime_error", "memory_limit", "time_limit"}
    assert result.tests[0].wall_ms < 11_000  # the hard limit; its own time, shared by 64, is what counts before


DAEMON_C = """
#include <stdio.h>
#include <unistd.h>
int main() {
    if (!fork()) { setsid(); if (!fork()) for (;;) %s; _exit(0); }
    puts("42");
    return 0;
}
"""


@pytest.mark.parametrize("what", ["pause()", "getpid()"], ids=["holds-stdout", "burns-cpu"])
def test_a_daemon_does_not_delay_the_verdict_and_is_dead_after_it(attack: Any, what: str) -> None:
    result = attack("c", DAEMON_C % what, output="42", run_s=5.0)
    assert result.accepted
    assert result.tests[0].wall_ms < 1000


def test_a_daemon_of_lua_is_dead_too(attack: Any) -> None:
    program = FFI + "if C.fork() == 0 then C.setsid() while true do C.usleep(1000) end end print(42)"
    result = attack("lua", program, output="42", run_s=5.0)
    assert result.accepted
    assert result.tests[0].wall_ms < 1000


def test_ten_thousand_orphans_are_reaped_while_it_runs(attack: Any) -> None:
    program = """
    #include <stdio.h>
    #include <sys/wait.h>
    #include <unistd.h>
    int main() {
        for (int i = 0; i < 10000; i++) {
            int pid;
            while ((pid = vfork()) < 0) usleep(1000);
            if (!pid) { int orphan = vfork(); _exit(0); }
            waitpid(pid, 0, 0);
        }
        puts("42");
    }
    """
    assert attack("c", program, output="42", run_s=10.0).accepted


def test_a_chain_of_execs_is_one_program(attack: Any) -> None:
    program = """
    #include <stdio.h>
    #include <stdlib.h>
    #include <unistd.h>
    int main(int count, char **arguments) {
        int left = count > 1 ? atoi(arguments[1]) : 300;
        char text[16];
        sprintf(text, "%d", left - 1);
        if (left) execl("./prog", "prog", text, (char *)0);
        puts("42");
    }
    """
    assert attack("c", program, output="42", run_s=5.0).accepted


@pytest.mark.parametrize("signal", [9, 19, 15], ids=["KILL", "STOP", "TERM"])
@pytest.mark.parametrize("target", ["-1", "1", "C.getppid()"])
def test_signals_do_not_reach_the_harness(attack: Any, target: str, signal: int) -> None:
    program = FFI + f"C.kill({target}, {signal}) print(42)"
    assert attack("lua", program, output="42").accepted


@pytest.mark.parametrize("target", ["C.getpid()", "0"], ids=["itself", "its group"])
def test_a_program_that_stops_itself_is_out_of_time(attack: Any, target: str) -> None:
    result = attack("lua", FFI + f"C.kill({target}, 19) print(42)", output="42", run_s=0.3)
    assert result.verdict == "time_limit"


def test_trapping_sigterm_gains_nothing(attack: Any) -> None:
    program = FFI + "C.signal(15, ffi.cast('void (*)(int)', 1)) while true do end"
    assert attack("lua", program, run_s=0.3).verdict == "time_limit"


def test_its_own_limits_cannot_be_raised(attack: Any) -> None:
    program = """
    #include <errno.h>
    #include <stdio.h>
    #include <sys/resource.h>
    #include <sys/syscall.h>
    #include <unistd.h>
    int main() {
        struct rlimit most = {RLIM_INFINITY, RLIM_INFINITY};
        int raised = 0;
        for (int i = 0; i < 16; i++) {
            struct rlimit now;
            getrlimit(i, &now);
            if (now.rlim_max != RLIM_INFINITY) raised += !setrlimit(i, &most);
            raised += !syscall(SYS_prlimit64, 1, i, &most, 0);
        }
        raised += nice(-1) != -1;
        raised += !setpriority(PRIO_PROCESS, 1, 19);
        printf("%d\\n", raised);
    }
    """
    assert attack("c", program, output="0").accepted
