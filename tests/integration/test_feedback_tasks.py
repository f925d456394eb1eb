"""The tasks of `benchmarks/code_feedback.py` leave open what only feedback shows."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest
from agnostics.environments.code_feedback import CodeFeedback
from agnostics.plugins.manager import load_plugins
from agnostics.verify import Verifier

BENCH = runpy.run_path(str(Path(__file__).parents[2] / "benchmarks" / "code_feedback.py"))


def _families(which: str) -> list[Any]:
    return [*BENCH[f"{which}_families"]()]


@pytest.mark.parametrize("which", ["starter", "other"])
def test_of_the_programs_for_a_statement_one_alone_passes_the_public_tests(which: str) -> None:
    language, environment = load_plugins().language("lua"), CodeFeedback()
    held_out = [family for family in _families(which) if family.is_held_out]
    with Verifier("bubblewrap") as verifier:
        for family in held_out[:: len(held_out) // 12]:
            task = family.task(0)
            assert verifier.verify(language, family.program, task).accepted, family.name
            others = {other.program for other in held_out if other.statement == task.statement} - {family.program}
            assert len(others) >= 11
            verifications = (verifier.verify(language, program, environment.public(task)) for program in others)
            assert not any(verification.accepted for verification in verifications), family.name


def test_no_held_out_input_of_the_starter_model_and_no_held_out_word_of_another_is_in_training() -> None:
    inputs = {is_held_out: set[str]() for is_held_out in (False, True)}
    for family in _families("starter"):
        for variant in range(3):
            inputs[family.is_held_out] |= {test.input for test in family.task(variant).tests}
    assert inputs[False]
    assert not inputs[False] & inputs[True]
    words = {is_held_out: set[str]() for is_held_out in (False, True)}
    for family in _families("other"):
        words[family.is_held_out].add(family.name.partition("/")[2])
    assert len(words[True]) == 12
    assert not words[False] & words[True]
