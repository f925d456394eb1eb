"""Programs that use too much time, memory or output; and honest ones that use a lot."""

from __future__ import annotations

from typing import Any

import pytest

TICK_MS = 50
"""How late after its limit a program may be ended, on an idle machine."""


@pytest.mark.parametrize(
    ("language", "program"),
    [
        ("lua", "while true do end"),
        ("c", "int main(){for(;;);}"),
        ("c", "#include <unistd.h>\nint main(){for(;;)pause();}"),
        ("c", '#include <stdio.h>\n#include <unistd.h>\nint main(){puts("42");fflush(stdout);for(;;)pause();}'),
        ("c", "#include <unistd.h>\nint main(){close(1);for(;;);}"),
        ("c", "#include <unistd.h>\nint main(){fork();fork();fork();for(;;);}"),
    ],
    ids=["loop-lua", "loop", "sleep", "answer-then-hang", "close-stdout-then-loop", "every-core"],
)
def test_a_program_that_does_not_end_is_ended_at_its_limit(attack: Any, language: str, program: str) -> None:
    result = attack(language, program, output="42", run_s=0.5)
    assert result.verdict == "time_limit"
    assert result.tests[0].wall_ms < 6500


def test_a_sleeper_is_ended_within_a_tick_of_its_limit(attack: Any) -> None:
    result = attack("c", "#include <unistd.h>\nint main(){for(;;)pause();}", run_s=0.5, tests=5)
    assert {test.verdict for test in result.tests} == {"time_limit"}
    assert min(test.wall_ms for test in result.tests) >= 500
    assert sorted(test.wall_ms for test in result.tests)[2] < 500 + TICK_MS


NEARLY_LATE_C = """
#include <stdio.h>
#include <time.h>
int main() {
    struct timespec t;
    do clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t); while (t.tv_nsec < 60000000 && !t.tv_sec);
    puts("42");
}
"""


def test_a_program_that_ends_just_in_time_is_accepted_every_time(attack: Any) -> None:
    result = attack("c", NEARLY_LATE_C, output="42", run_s=0.1, tests=30)
    assert [test.verdict for test in result.tests] == ["accepted"] * 30


TOUCH_C = "#include <stdlib.h>\n#include <string.h>\nint main(){for(;;)memset(malloc(1<<20),1,1<<20);}"
CHILDREN_C = """
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int main() {
    for (int i = 0; i < 20; i++) {
        if (fork()) continue;
        volatile char *room = malloc(32 << 20);
        memset((void *)room, 1, 32 << 20);
        sleep(9);
        _exit(room[9]);
    }
    sleep(9);
}
"""
SLEEP_THEN_SPIN_C = "#include <unistd.h>\nint main(){usleep(300000);for(;;);}"


def test_sleeping_and_computing_both_count(attack: Any) -> None:
    result = attack("c", SLEEP_THEN_SPIN_C, run_s=0.5, tests=5)
    assert {test.verdict for test in result.tests} == {"time_limit"}
    assert sorted(test.cpu_ms for test in result.tests)[2] < 200 + TICK_MS


MEMFD_C = """
#define _GNU_SOURCE
#include <sys/mman.h>
#include <unistd.h>
static char block[1 << 20];
int main() {
    for (int i = 0;; i++) {
        if (i % 4 == 0) dup2(memfd_create("x", 0), 500 + i / 4);
        write(500 + i / 4, block, 1 << 20);
    }
}
"""


@pytest.mark.parametrize(
    "program",
    [TOUCH_C, CHILDREN_C, MEMFD_C, "#include <string.h>\nchar a[1<<30];int main(){memset(a,1,1<<30);return a[7]-1;}"],
    ids=["heap", "children", "memfd", "bss"],
)
def test_memory_over_the_limit_is_memory_limit(attack: Any, program: str) -> None:
    assert attack("c", program, run_s=5.0, memory_mb=128).verdict == "memory_limit"


def test_a_child_taken_by_the_oom_killer_counts_though_its_parent_lives(attack: Any) -> None:
    program = """
    #include <stdio.h>
    #include <stdlib.h>
    #include <string.h>
    #include <sys/wait.h>
    #include <unistd.h>
    int main() {
        if (!fork()) for (;;) memset(malloc(1 << 20), 1, 1 << 20);
        wait(0);
        puts("42");
    }
    """
    assert attack("c", program, output="42", run_s=5.0).verdict == "memory_limit"


def test_a_huge_allocation_that_fails_and_is_handled_is_fine(attack: Any) -> None:
    program = '#include <stdio.h>\n#include <stdlib.h>\nint main(){void*p=malloc(1UL<<60);puts(p?"got":"42");}'
    assert attack("c", program, output="42").accepted


def test_deep_recursion_ends_by_itself(attack: Any) -> None:
    program = "int f(int n){volatile char room[1000];room[n%1000]=n;return f(n+1)+room[n%999];}int main(){return f(0);}"
    assert attack("c", program, run_s=5.0).verdict in {"runtime_error", "memory_limit"}
    assert attack("lua", "local function f(n) return 1 + f(n + 1) end f(0)").verdict == "runtime_error"


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_endless_output_is_stopped_at_the_cap(attack: Any, stream: str) -> None:
    result = attack("lua", f"local s = ('x'):rep(4096) while true do io.{stream}:write(s) end", run_s=5.0)
    assert result.verdict == "output_limit"
    assert result.tests[0].wall_ms < 1000


def test_endless_output_that_ignores_the_signal_is_stopped_too(attack: Any) -> None:
    program = '#include <signal.h>\n#include <stdio.h>\nint main(){signal(25,SIG_IGN);for(;;)puts("xxxxxxx");}'
    result = attack("c", program, run_s=5.0)
    assert result.verdict == "output_limit"
    assert result.tests[0].wall_ms < 1000


def test_output_of_exactly_the_cap_is_allowed_and_one_byte_more_is_not(attack: Any) -> None:
    program = "io.write(('x'):rep(%d))"
    assert attack("lua", program % 5_000_000, output="x" * 5_000_000).accepted
    assert attack("lua", program % 5_000_001, output="x" * 5_000_001).verdict == "output_limit"


def test_the_answer_and_then_a_gigabyte_of_blanks_is_output_limit(attack: Any) -> None:
    program = "print(42) local s = (' '):rep(65536) for i = 1, 16384 do io.write(s) end"
    assert attack("lua", program, output="42").verdict == "output_limit"


def test_honest_programs_may_print_much_slowly_and_in_any_bytes(attack: Any) -> None:
    assert attack("lua", "for i = 1, 60000 do print(1234) end", output="1234\n" * 60000).accepted
    slow = "io.stdout:setvbuf('no') for i = 1, 3000 do io.write('x') end"
    assert attack("lua", slow, output="x" * 3000).accepted
    assert attack("lua", "io.write('\\0\\255\\254 1')", output="\0\udcff\udcfe 1").accepted


@pytest.mark.parametrize(
    ("program", "output"),
    [
        ("print(42)", "42"),
        ("io.stdin:close() print(42)", "42"),
        ("local a = io.read('*a') local b = io.read('*a') local c = io.read('*l') print(#a, #b, c)", "4000000 0 nil"),
        ("io.write(io.read('*a'))", "1234567\n" * 500_000),
    ],
    ids=["unread", "closed", "past-the-end", "copied"],
)
def test_megabytes_of_input_may_be_read_or_not(attack: Any, program: str, output: str) -> None:
    assert attack("lua", program, output=output, given="1234567\n" * 500_000).accepted


@pytest.mark.parametrize(
    "program",
    [
        '#include "/dev/zero"\nint main(){}',
        '#include "/dev/urandom"\nint main(){}',
        '#include "snippet.c"\nint main(){}',
        "#define A(x) x x x x x x x x x x\n#define B(x) A(A(A(A(x))))\nint a[]={B(B(1,))};int main(){}",
        "#error " + "x" * 100_000 + "\n" + "int f(){return zzz;}\n" * 20_000,
    ],
    ids=["zero", "urandom", "itself", "macros", "diagnostics"],
)
def test_a_compiler_under_attack_is_a_compile_error_in_time(attack: Any, program: str) -> None:
    result = attack("c", program, compile_s=2.0)
    assert result.verdict == "compile_error"
    assert len(result.compile.message) <= 4200
    assert result.compile.wall_ms < 22_000
