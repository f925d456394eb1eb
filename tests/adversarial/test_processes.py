"""Programs that attack with processes and signals."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from agnostics.types.verification import Verification

Attack = Callable[..., Verification]


@pytest.mark.programs("fork_bomb", "thread_bomb", "stubborn_bomb")
def test_a_bomb_ends_within_its_limit(attack: Attack, program: str) -> None:
    result = attack(program, output="never", run_s=0.25)
    assert result.verdict in {"runtime_error", "memory_limit", "time_limit"}
    assert result.tests[0].wall_ms < 6_500  # the hard limit; its own time, shared by 64, is what counts before


@pytest.mark.programs("daemon_holds_stdout", "daemon_burns_cpu", "children_burn_cpu", "lock_everything")
def test_a_daemon_does_not_delay_the_verdict_and_is_dead_after_it(attack: Attack, program: str) -> None:
    result = attack(program, output="42", run_s=5.0, tests=3)
    assert result.accepted
    assert max(test.wall_ms for test in result.tests) < 1000


@pytest.mark.programs("ten_thousand_orphans")
def test_ten_thousand_orphans_are_reaped_while_it_runs(attack: Attack, program: str) -> None:
    assert attack(program, output="42", run_s=20.0).accepted


@pytest.mark.programs("zombies")
def test_zombies_count_only_against_their_program(attack: Attack, program: str) -> None:
    assert attack(program, output="42", run_s=10.0).accepted


@pytest.mark.programs("exec_chain", "huge_arguments")
def test_a_chain_of_executions_is_one_program(attack: Attack, program: str) -> None:
    assert attack(program, output="42", run_s=20.0).accepted


@pytest.mark.programs("signal_everyone", "aim_at_harness")
def test_nothing_aimed_at_the_harness_reaches_it(attack: Attack, program: str) -> None:
    result = attack(program, output="42", tests=2)
    assert result.accepted, result.tests[0].stdout


@pytest.mark.programs("stop_itself", "stop_group")
def test_a_program_that_stops_itself_is_out_of_time(attack: Attack, program: str) -> None:
    assert attack(program, output="42", run_s=0.2).verdict == "time_limit"


@pytest.mark.programs("trap_sigterm")
def test_trapping_sigterm_gives_no_more_time(attack: Attack, program: str) -> None:
    assert attack(program, run_s=0.2).verdict == "time_limit"


@pytest.mark.programs("raise_limits")
def test_its_own_limits_cannot_be_raised(attack: Attack, program: str) -> None:
    assert attack(program, output="0").accepted


@pytest.mark.programs("exhaust_kernel_tables")
def test_per_user_kernel_limits_run_out_for_no_other_slot(attack: Attack, program: str) -> None:
    assert attack(program, output="42", run_s=10.0, tests=2).accepted


@pytest.mark.programs("execute_from_memory")
def test_a_program_executed_from_memory_runs(attack: Attack, program: str) -> None:
    assert attack(program, output="42").accepted


@pytest.mark.programs("dump_core")
def test_a_crash_dumps_no_core(attack: Attack, program: str) -> None:
    result = attack(program, tests=2)
    assert {(test.verdict, test.signal) for test in result.tests} == {("runtime_error", 6)}
