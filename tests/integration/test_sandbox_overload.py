"""More programs than processors: verdicts are those of an idle machine."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import ExitStack

import pytest
from agnostics.sandbox.pool import available_cores
from agnostics.types.language import Language
from agnostics.types.task import LimitOverrides, Task, Test
from agnostics.types.verification import Verification
from agnostics.verify import Verifier

NOW_C = """
#include <stdio.h>
#include <time.h>
#include <unistd.h>
static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec / 1e9;
}
int main() {
    double begun = now();
    printf("%f ", begun), fflush(stdout);
    WORK
    printf("%f", now());
}
"""
SLEEPER = NOW_C.replace("WORK", "for (;;) pause();")
WORKER = NOW_C.replace("WORK", "clock_t begun_cpu = clock(); while (clock() - begun_cpu < CLOCKS_PER_SEC / 10);")
ANY = Task(id="any", tests=(Test(input="", output="0"),), limits=LimitOverrides(run_s=0.5))
OVERLOAD = 8
"""Slots on two processors."""


def times(verification: Verification) -> list[float]:
    return [float(text) for text in verification.tests[0].stdout.split()]


@pytest.fixture
def busy_machine() -> Iterator[None]:
    """Two processes that compute, for each processor."""
    with ExitStack() as stack:
        for _ in range(2 * available_cores()):
            process = stack.enter_context(subprocess.Popen([sys.executable, "-c", "while True: pass"]))
            stack.callback(process.kill)
        yield


@pytest.mark.usefixtures("busy_machine")
def test_a_timeout_without_processor_time_is_retried_alone(mode: str, languages: dict[str, Language]) -> None:
    with Verifier(mode, 4) as verifier:
        workers = [verifier.submit(languages["c"], WORKER, ANY) for _ in range(10)]
        sleeper = verifier.submit(languages["c"], SLEEPER, ANY).result(timeout=120)
        workers += [verifier.submit(languages["c"], WORKER, ANY) for _ in range(10)]
        done = [future.result(timeout=120) for future in workers]
    assert (sleeper.verdict, sleeper.attempts) == ("time_limit", 2)
    begun = times(sleeper)[0]
    assert {one.attempts for one in done} == {1}
    assert not [one for one in map(times, done) if one[0] < begun + 0.5 and one[1] > begun]


def test_a_timeout_with_the_whole_limit_of_processor_time_is_not_retried(
    mode: str, languages: dict[str, Language]
) -> None:
    """A hypervisor that takes the core away for half the limit causes a retry, rightly: one round of three has none."""
    with Verifier(mode, 1) as verifier:
        done = [verifier.verify(languages["lua"], "while true do end", ANY) for _ in range(3)]
    assert {one.verdict for one in done} == {"time_limit"}
    assert min(one.attempts for one in done) == 1


def test_a_program_that_sleeps_on_an_idle_machine_is_not_run_again(mode: str, languages: dict[str, Language]) -> None:
    with Verifier(mode, 1) as verifier:
        done = [verifier.verify(languages["c"], SLEEPER, ANY) for _ in range(3)]
    assert {one.verdict for one in done} == {"time_limit"}
    assert min(one.attempts for one in done) == 1


@pytest.mark.usefixtures("busy_machine")
def test_of_many_tests_that_a_program_sleeps_in_one_is_run_again(languages: dict[str, Language]) -> None:
    task = ANY.model_copy(update={"tests": ANY.tests * 4})
    with Verifier("bubblewrap", 1) as verifier:
        done = verifier.submit(languages["c"], SLEEPER, task, stop_on_failure=False).result(timeout=120)
    begun = [float(test.stdout) for test in done.tests]
    assert (done.attempts, {test.verdict for test in done.tests}) == (2, {"time_limit"})
    assert sorted(begun) == [*begun[1:], begun[0]]


@pytest.mark.usefixtures("busy_machine")
def test_work_that_keeps_coming_is_held_back_for_a_retry_at_last(
    languages: dict[str, Language], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agnostics.sandbox.timeout_retry.DRAIN_TIMEOUT_S", 0.5)
    with Verifier("bubblewrap", 1) as verifier:
        sleeper = verifier.submit(languages["c"], SLEEPER, ANY)
        behind = [verifier.submit(languages["c"], WORKER, ANY) for _ in range(40)]
        assert sleeper.result(timeout=120).attempts == 2
        assert not all(future.done() for future in behind)


def test_right_programs_stay_right_on_four_times_as_many_slots_as_processors(
    mode: str, languages: dict[str, Language]
) -> None:
    right = "local n = io.read('n') local s = 0 for i = 1, 3e7 do s = (s + i) % 7 end print(n)"
    evil = ["while true do end", "local t = {} while true do t[#t + 1] = ('x'):rep(1e6) end", "error('x')"]
    task = Task(id="n", tests=(Test(input="5", output="5"),) * 2, limits=LimitOverrides(run_s=1.0, memory_mb=128))
    programs = [right, right, right, *evil] * 4
    with Verifier(mode, OVERLOAD) as verifier:
        futures: list[Future[Verification]] = [verifier.submit(languages["lua"], one, task) for one in programs]
        found = [str(future.result(timeout=300).verdict) for future in futures]
    assert {found[i] for i in range(len(found)) if i % 6 < 3} == {"accepted"}
    assert found[3::6] == ["time_limit"] * 4
    assert found[4::6] == ["memory_limit"] * 4
    assert found[5::6] == ["runtime_error"] * 4
