"""Programs that use too much memory, or are refused it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable

import pytest
from agnostics.sandbox.cgroups import counters_of
from agnostics.types.language import Language
from agnostics.types.task import LimitOverrides, Task, Test
from agnostics.types.verification import Verification
from agnostics.verify import Verifier

Attack = Callable[..., Verification]
HOLD_MEMORY = """
import sys, time
for path in sys.argv[1:]:
    open(path, "w").write("0")
held = b"x" * (200 << 20)
print("held", flush=True)
time.sleep(0.5)
"""
"""Joins groups, holds 200 MiB there, and ends half a second after it says so."""


@pytest.mark.programs(
    "touch_memory",
    "huge_bss",
    "memory_of_children",
    "leaderless_processes",
    "fleeting_memory",
    "leave_memory_to_children",
    "child_out_of_memory",
    "fill_memory_files",
    "hide_memory_files",
    "fill_shared_memory",
    "fill_disk_over_memory",
)
def test_memory_over_the_limit_is_memory_limit(attack: Attack, program: str) -> None:
    assert attack(program, output="42", run_s=5.0, memory_mb=128).verdict == "memory_limit"


@pytest.mark.programs("five_small_children")
def test_a_small_limit_holds_for_all_processes_together(attack: Attack, program: str) -> None:
    assert attack(program, output="42", memory_mb=16).verdict == "memory_limit"


@pytest.mark.programs("nearly_all_memory")
def test_outputs_do_not_count_as_memory_of_the_program(attack: Attack, program: str) -> None:
    result = attack(program, output="x" * 4_900_000, memory_mb=128)
    assert result.accepted
    assert result.tests[0].peak_mb < 128


@pytest.mark.programs("fill_to_the_brim")
def test_a_slot_that_is_filled_to_the_brim_is_no_error_of_the_sandbox(attack: Attack, program: str) -> None:
    result = attack(program, output="42", run_s=5.0, memory_mb=128, tests=2)
    assert (result.verdict, result.attempts) == ("memory_limit", 1)


@pytest.mark.programs("socket_cycles")
def test_what_only_sockets_hold_takes_no_memory_from_the_next_program(attack: Attack, program: str) -> None:
    assert attack(program, output="42", run_s=5.0, memory_mb=512).accepted
    assert attack("take_most_memory.c", output="42", run_s=5.0, memory_mb=512).accepted


@pytest.mark.programs("spare_itself_from_the_oom_killer")
def test_memory_taken_by_many_small_children_does_not_kill_the_harness(attack: Attack, program: str) -> None:
    """The harness holds the input twice over, and is by far the largest process of the slot."""
    result = attack(program, given="1234567\n" * 4_000_000, run_s=5.0, memory_mb=128)
    assert (result.verdict, result.attempts) == ("memory_limit", 1)


@pytest.mark.programs("grow_while_measured")
def test_memory_taken_while_the_harness_measures_costs_no_slot(attack: Attack, program: str) -> None:
    """Once the harness lent the slot memory for that moment, which the program took."""
    results = [attack(program, run_s=5.0, memory_mb=1024, processes=1000) for _ in range(5)]
    assert [(result.verdict, result.attempts) for result in results] == [("memory_limit", 1)] * 5


@pytest.mark.programs("failed_allocation")
def test_a_huge_allocation_that_fails_and_is_handled_is_fine(attack: Attack, program: str) -> None:
    assert attack(program, output="42").accepted


@pytest.mark.programs("deep_recursion")
def test_deep_recursion_ends_by_itself(attack: Attack, program: str) -> None:
    assert attack(program, run_s=5.0).verdict in {"runtime_error", "memory_limit"}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may put a process into a slot's group")
@pytest.mark.not_as_user
def test_memory_that_is_freed_late_costs_no_slot(
    single: Verifier, harness_of: Callable[[Verifier], int], languages: dict[str, Language]
) -> None:
    """The kernel frees some of a program's memory after its end; a process in the slot's group stands for it here."""

    def honest(memory_mb: int) -> Verification:
        task = Task(id="honest", tests=(Test(input="", output="42"),), limits=LimitOverrides(memory_mb=memory_mb))
        return single.verify(languages["lua"], "print(42)", task)

    assert honest(512).accepted
    harness = harness_of(single)
    groups = [str(folder / "cgroup.procs") for folder in counters_of(harness)]
    with subprocess.Popen([sys.executable, "-c", HOLD_MEMORY, *groups], stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        result = honest(16)
    assert (result.verdict, result.attempts) == ("accepted", 1)
    assert harness_of(single) == harness
