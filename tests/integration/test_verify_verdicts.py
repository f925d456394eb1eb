"""Every verdict, in Lua and Fortran, in both modes; and the other fields of a verification."""

from __future__ import annotations

import signal

import pytest
from agnostics.types.language import Language
from agnostics.types.task import LimitOverrides, Task, Test
from agnostics.types.verification import Verdict
from agnostics.verify import Verifier

TASK = Task(
    id="next",
    tests=(Test(input="41\n", output="42\n"), Test(input="-1\n", output="0\n")),
    limits=LimitOverrides(run_s=1.0, output_bytes=100_000, memory_mb=64),
)
LUA = {
    Verdict.ACCEPTED: "print(io.read('n') + 1)",
    Verdict.WRONG_ANSWER: "print(42)",
    Verdict.RUNTIME_ERROR: "error('no')",
    Verdict.TIME_LIMIT: "while true do end",
    Verdict.OUTPUT_LIMIT: "while true do io.write('x') end",
    Verdict.MEMORY_LIMIT: "local t = {} for i = 1, 1e9 do t[i] = ('x'):rep(1e5) .. i end",
    Verdict.NO_PROGRAM: " \n",
}
FORTRAN = {
    Verdict.ACCEPTED: "integer :: n\nread *, n\nprint *, n + 1\nend",
    Verdict.WRONG_ANSWER: "print *, 42\nend",
    Verdict.RUNTIME_ERROR: "error stop 'no'\nend",
    Verdict.TIME_LIMIT: "integer, volatile :: n\ndo\nn = 1\nend do\nend",
    Verdict.OUTPUT_LIMIT: "do\nprint *, 'x'\nend do\nend",
    Verdict.MEMORY_LIMIT: "integer, allocatable :: a(:)\ninteger :: i\nallocate(a(40000000))\n"
    "do i = 1, 40000000\na(i) = i\nend do\nprint *, a(7)\nend",
    Verdict.COMPILE_ERROR: "this is no Fortran",
    Verdict.NO_PROGRAM: "",
}
ENDLESS_S = 0.2
"""The time limit of a program that never ends: the others are to have time, on a busy machine too."""
CASES = [("lua", verdict) for verdict in LUA] + [("fortran", verdict) for verdict in FORTRAN]


@pytest.mark.parametrize(("name", "verdict"), CASES)
def test_each_verdict_is_given_and_given_again(
    verifier: Verifier, languages: dict[str, Language], name: str, verdict: Verdict
) -> None:
    program = {"lua": LUA, "fortran": FORTRAN}[name][verdict]
    limits = TASK.limits.model_copy(update={"run_s": ENDLESS_S} if verdict is Verdict.TIME_LIMIT else {})
    task = TASK.model_copy(update={"limits": limits})
    first, second = (verifier.verify(languages[name], program, task, stop_on_failure=False) for _ in range(2))
    assert first.verdict == second.verdict == verdict, first
    assert [t.verdict for t in first.tests] == [t.verdict for t in second.tests]
    assert first.sandbox == verifier.mode
    assert first.unenforced == ()


def test_an_interpreter_that_counts_steps_says_so_with_a_signal(
    verifier: Verifier, languages: dict[str, Language]
) -> None:
    spent = verifier.verify(languages["c"], "#include <signal.h>\nint main(void) { raise(SIGXCPU); }", TASK)
    assert (spent.verdict, spent.tests[0].signal, spent.attempts) == ("time_limit", signal.SIGXCPU, 1)


class WithInterpreter(Language):
    def support_files(self) -> dict[str, bytes]:
        return {"interpreter": b'#!/bin/sh\nread number; echo $((number + $(cat "$1")))\n'}


def test_a_language_may_bring_its_interpreter(verifier: Verifier) -> None:
    """It is executable, and no program can change it."""
    adder = WithInterpreter(name="adder", prompt="p", filename="snippet.add", execute="./interpreter snippet.add")
    assert verifier.verify(adder, "1", TASK).verdict == "accepted"
    vandal = adder.model_copy(update={"execute": "sh snippet.add"})
    assert verifier.verify(vandal, "echo 'echo 0' > interpreter", TASK).verdict == "runtime_error"


def test_the_first_failure_skips_the_rest_if_asked(verifier: Verifier, languages: dict[str, Language]) -> None:
    task = TASK.model_copy(update={"tests": (*TASK.tests, TASK.tests[0])})
    stopped = verifier.verify(languages["lua"], "print(42)", task)
    assert [t.verdict for t in stopped.tests] == ["accepted", "wrong_answer", "skipped"]
    whole = verifier.verify(languages["lua"], "print(42)", task, stop_on_failure=False)
    assert [t.verdict for t in whole.tests] == ["accepted", "wrong_answer", "accepted"]


def test_the_verdict_of_a_program_is_its_worst_by_precedence(
    verifier: Verifier, languages: dict[str, Language]
) -> None:
    program = "local n = io.read('n') if n < 0 then while true do end end error('x')"
    result = verifier.verify(languages["lua"], program, TASK, stop_on_failure=False)
    assert [t.verdict for t in result.tests] == ["runtime_error", "time_limit"]
    assert result.verdict == Verdict.TIME_LIMIT


def test_a_result_says_what_the_test_did(verifier: Verifier, languages: dict[str, Language]) -> None:
    program = "io.stderr:write('note') print('1 2 4') os.exit(0)"
    task = Task(id="t", tests=(Test(input="", output="1 2 3"),))
    (test,) = verifier.verify(languages["lua"], program, task).tests
    assert (test.exit_code, test.signal, test.stdout, test.stderr) == (0, None, "1 2 4\n", "note")
    assert test.difference
    assert (test.difference.index, test.difference.offset) == (2, 4)
    assert (test.difference.expected, test.difference.actual) == ("3", "4")
    assert 0 < test.cpu_ms < 1000
    assert 0 < test.wall_ms < 5000
    assert 1 < test.peak_mb < 64


def test_a_signal_is_reported(verifier: Verifier, languages: dict[str, Language]) -> None:
    program = "local ffi = require('ffi') ffi.cdef('int raise(int);') ffi.C.raise(11)"
    (test,) = verifier.verify(languages["lua"], program, TASK.model_copy(update={"tests": TASK.tests[:1]})).tests
    assert (test.verdict, test.signal, test.exit_code) == ("runtime_error", 11, None)


def test_outputs_are_cut_for_storage_and_compared_whole(verifier: Verifier, languages: dict[str, Language]) -> None:
    task = Task(id="t", tests=(Test(input="", output="x" * 50_000 + "\nend"),))
    (test,) = verifier.verify(languages["lua"], "print(('x'):rep(50000)) print('end')", task).tests
    assert (test.verdict, len(test.stdout), test.truncated) == ("accepted", 4096, True)


def test_limits_apply_to_compiling_and_to_each_test_separately(
    verifier: Verifier, languages: dict[str, Language]
) -> None:
    nap = "local ffi = require('ffi') ffi.cdef('int usleep(unsigned);') ffi.C.usleep(300000) print(1)"
    task = Task(id="t", tests=(Test(input="", output="1"),) * 4, limits=LimitOverrides(run_s=1.0))
    assert verifier.verify(languages["lua"], nap, task).verdict == Verdict.ACCEPTED
    quick = Task(id="t", tests=(Test(input="", output="1"),), limits=LimitOverrides(run_s=0.5, compile_s=0.01))
    result = verifier.verify(languages["fortran"], "print *, 1\nend", quick)
    assert result.verdict == Verdict.COMPILE_ERROR
    assert result.compile
    assert "time limit" in result.compile.message


def test_compiler_messages_come_back(verifier: Verifier, languages: dict[str, Language]) -> None:
    result = verifier.verify(languages["fortran"], "integer :: n\nn = 'a' +\nend", TASK)
    assert result.compile
    assert not result.compile.ok
    assert "snippet.f90" in result.compile.message
    assert [t.verdict for t in result.tests] == ["skipped", "skipped"]


def test_a_program_may_write_its_own_memory_as_compilers_at_run_time_do(
    verifier: Verifier, languages: dict[str, Language]
) -> None:
    program = """
    #include <fcntl.h>
    #include <stdio.h>
    #include <unistd.h>
    static volatile int answer = 7;
    int main() {
        int value = 42, memory = open("/proc/self/mem", O_RDWR);
        pwrite(memory, &value, sizeof value, (off_t)&answer);
        printf("%d", answer);
    }
    """
    task = Task(id="t", tests=(Test(input="", output="42"),))
    assert verifier.verify(languages["c"], program, task).accepted
