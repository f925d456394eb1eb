"""Programs that exceed their time limit, or nearly do."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from agnostics.sandbox.cgroups import find_parent_groups
from agnostics.types.language import Language
from agnostics.types.task import LimitOverrides, Task, Test
from agnostics.types.verification import Verification
from agnostics.verify import Verifier

Attack = Callable[..., Verification]

TICK_MS = 50
"""The delay between a program's limit and its end on an idle machine."""


@pytest.mark.programs("busy_loop", "close_stdout_then_loop", "spin_on_every_core")
def test_a_program_that_computes_on_is_ended_at_its_limit(attack: Attack, program: str) -> None:
    result = attack(program, output="42", run_s=0.3)
    assert result.verdict == "time_limit"
    assert 300 <= result.tests[0].cpu_ms < 300 + 2 * TICK_MS


@pytest.mark.programs("unwaited_children")
def test_the_time_of_children_counts_that_nobody_waits_for(attack: Attack, program: str) -> None:
    result = attack(program, output="42", run_s=0.3)
    assert result.verdict == "time_limit"
    assert 300 <= result.tests[0].cpu_ms < 300 + 4 * TICK_MS


@pytest.mark.not_as_user
@pytest.mark.programs("sleep", "answer_then_hang")
def test_a_program_that_waits_is_ended_within_a_tick_of_its_limit(attack: Attack, program: str) -> None:
    result = attack(program, output="42", run_s=0.2, tests=3)
    assert {test.verdict for test in result.tests} == {"time_limit"}
    assert min(test.wall_ms for test in result.tests) >= 200
    assert sorted(test.wall_ms for test in result.tests)[1] < 200 + TICK_MS


@pytest.mark.not_as_user
@pytest.mark.programs("sleep_then_spin")
def test_sleeping_and_computing_both_count(attack: Attack, program: str) -> None:
    result = attack(program, run_s=0.4, tests=3)
    assert {test.verdict for test in result.tests} == {"time_limit"}
    assert sorted(test.cpu_ms for test in result.tests)[1] < 100 + TICK_MS


@pytest.mark.not_as_user
def test_many_processes_take_no_more_of_the_processors_from_the_program_beside_them_than_one(
    mode: str, verifier: Verifier, writing: dict[str, Language], text_of: Callable[[str], str]
) -> None:
    if mode == "bubblewrap" and find_parent_groups().shares is None:
        pytest.skip("this machine delegates no processor shares")

    def slowed_by(program: str, run_s: float) -> float:
        """The time of a program that computes beside this one, at most, as a multiple of its processor time."""
        limits = LimitOverrides(run_s=run_s)
        spinning = verifier.submit(writing["c"], text_of(program), Task(id="spins", tests=tests[:1], limits=limits))
        beside = verifier.submit(writing["lua"], text_of("brief_computation.lua"), Task(id="beside", tests=tests))
        results = [future.result() for future in (spinning, beside)]
        assert [result.verdict for result in results] == ["time_limit", "accepted"]
        return max(test.wall_ms / test.cpu_ms for test in results[1].tests)

    tests = (Test(input="", output="42"),) * 4
    assert slowed_by("many_spinners.c", 3.0) < 3 * slowed_by("busy_loop.c", 1.0)


@pytest.mark.not_as_user
def test_a_program_that_ends_just_in_time_is_accepted_every_time(
    verifier: Verifier, writing: dict[str, Language], text_of: Callable[[str], str]
) -> None:
    """Each computes for all but 10 ms of its limit, 120 times in all, with a program on every core.

    A hypervisor that takes a core away for 10 ms makes a program late, and no harness can see that: one round of three
    without a late program is enough.
    """
    task = Task(id="late", tests=(Test(input="", output="42"),) * 15, limits=LimitOverrides(run_s=0.1))
    programs = [("nearly_late.lua", "lua"), ("nearly_late.c", "c"), ("nearly_late.f90", "fortran")] * 3
    late = []
    for _ in range(3):
        running = [verifier.submit(writing[name], text_of(program), task) for program, name in programs[:8]]
        late.append(sum(test.verdict != "accepted" for future in running for test in future.result().tests))
        if not late[-1]:
            return
    pytest.fail(f"programs that were late, by round: {late}")
