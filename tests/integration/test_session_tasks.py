"""The problems of `benchmarks/session_training.py`: their programs, and what is held out."""

from __future__ import annotations

import runpy
from pathlib import Path
from random import Random

from agnostics.plugins.manager import load_plugins
from agnostics.referee.environment import ProtocolSession
from agnostics.types.task import Task
from agnostics.verify import Verifier

BENCH = runpy.run_path(str(Path(__file__).parents[2] / "benchmarks" / "session_training.py"))


def test_a_problem_is_solved_by_its_own_program_and_by_no_slip() -> None:
    language = load_plugins().language("brainfuck")
    random = Random(0)
    known, held_out = BENCH["problems"]()
    with Verifier("bubblewrap", 1) as verifier:
        for problem in [*known[::10], *held_out[::10]]:
            task = Task.model_validate({"id": problem.name, "statement": "x", "tests": problem.tests()})
            assert verifier.verify(language, problem.program, task).accepted, problem
            for slip in {BENCH["_slip"](problem, random) for _ in range(4)}:
                verification = verifier.verify(language, slip.program, task, stop_on_failure=False)
                passed = sum(test.verdict == "accepted" for test in verification.tests)
                assert passed == sum(slip.output(test["input"]) == test["output"] for test in problem.tests())
                assert not verification.accepted, (problem, slip)


def test_no_held_out_combination_is_in_training_and_every_number_is() -> None:
    known, held_out = BENCH["problems"]()
    assert (len(known), len(held_out), len({*known, *held_out})) == (140, 60, 200)
    for name, values in {"start": range(1, 6), "up": range(5), "times": range(1, 5)}.items():
        assert {getattr(problem, name) for problem in known} == {*values}
    said = " ".join(
        message["content"]
        for line in BENCH["conversations"](ProtocolSession())
        for message in line["messages"]
        if message["role"] == "user"
    )
    assert not any(problem.statement in said or f"{problem.name}:" in said for problem in held_out)
