"""Tasks that no program can solve are recognised by tests that contradict each other."""

from __future__ import annotations

from typing import Any

import pytest
from agnostics.types.task import Checker, Comparison, Task, Test
from agnostics.types.unsolvable import known_unsolvable


def task(mode: Any, *outputs: str, inputs: str = "aaaa") -> Task:
    """A task with an output for each letter of `inputs`, which is its input."""
    checker = Checker(language="python", program="") if mode == "checker" else None
    tests = tuple(Test(input=given, output=output) for given, output in zip(inputs, outputs, strict=False))
    return Task(id="t", tests=tests, compare=Comparison(mode=mode, checker=checker))


@pytest.mark.parametrize(
    ("mode", "outputs"),
    [
        ("tokens", ("1 2", "12")),
        ("lines", ("  a", "a")),
        ("lines", ("a\n\nb", "a\nb")),
        ("exact", ("a", "a\n")),
    ],
)
def test_one_input_with_two_outputs_is_unsolvable(mode: str, outputs: tuple[str, ...]) -> None:
    assert known_unsolvable(task(mode, outputs[0], *outputs), "brainfuck") == (
        "no program in brainfuck passes tests 1 and 3: the same input, different outputs"
    )


@pytest.mark.parametrize(
    ("mode", "outputs"),
    [
        ("tokens", ("1 2", " 1\n2\n")),
        ("lines", ("a \nb", "a\nb\n\n")),
        ("exact", ("a\n", "a\n")),
        ("floats", ("1.0", "1.0000001")),
        ("checker", ("1", "2")),
        ("nothing", ("1", "2")),
    ],
)
def test_outputs_that_one_program_can_match_are_no_contradiction(mode: str, outputs: tuple[str, ...]) -> None:
    assert known_unsolvable(task(mode, *outputs), "unlambda") is None


def test_different_inputs_may_have_any_outputs() -> None:
    assert known_unsolvable(task("exact", "1", "2", "1", inputs="abc"), "whitespace") is None
