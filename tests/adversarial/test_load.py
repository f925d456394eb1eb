"""Honest programs among evil ones, many more than there are cores."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest
from agnostics.types.language import Language
from agnostics.types.task import LimitOverrides, Task, Test
from agnostics.verify import Verifier

PROGRAMS = 1000
EVIL = [
    "fork_bomb",
    "thread_bomb",
    "stubborn_bomb",
    "daemon_holds_stdout",
    "children_burn_cpu",
    "busy_loop",
    "signal_everyone",
    "aim_at_harness",
    "touch_memory",
    "fill_memory_files",
    "endless_stdout",
    "litter",
    "peek",
]
HONEST = ["own_notes", "copied_input", "busy_neighbour"]


def task(limit_s: float) -> Task:
    """What an honest program answers."""
    limits = LimitOverrides(run_s=limit_s, memory_mb=128)
    return Task(id="load", tests=(Test(input="42", output="42"),), limits=limits)


def a_mixture(rng: random.Random, honest: list[str], evil: list[str]) -> list[str]:
    """One in five is evil; nearly all are in Lua, because compiling takes longer than all else."""
    weights = {".lua": 24, ".c": 1, ".f90": 1}
    mixture: list[str] = []
    for _ in range(PROGRAMS):
        files = evil if rng.random() < 0.2 else honest
        mixture += rng.choices(files, [weights[Path(file).suffix] for file in files])
    return mixture


@pytest.mark.not_as_user
def test_no_honest_program_suffers_from_a_thousand_mixed_ones(
    crowd: Verifier, writing: dict[str, Language], text_of: Callable[[str], str], files_of: Callable[..., list[str]]
) -> None:
    kinds = {".c": writing["c"], ".f90": writing["fortran"], ".lua": writing["lua"]}
    honest, evil = files_of(*HONEST), files_of(*EVIL)
    programs = a_mixture(random.Random(4), honest, evil)
    running = [
        crowd.submit(kinds[Path(name).suffix], text_of(name), task(0.05 if name in evil else 1.0)) for name in programs
    ]
    results = [(name, future.result()) for name, future in zip(programs, running, strict=True)]
    assert [(name, result.verdict) for name, result in results if name in honest and not result.accepted] == []
    assert [name for name, result in results if result.verdict == "sandbox_error"] == []
    assert {result.accepted for name, result in results if name in evil} == {True, False}
