"""MBPP converted by rule: every task is solved by MBPP's own solution, and no solution is in two splits."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from agnostics.plugins.manager import load_plugins
from agnostics.types.language import Language
from agnostics.types.task import Task
from agnostics.verify import Verifier
from agnostics_datasets.mbpp_stdio import MbppStdio
from mbpp_reference import in_one_test, normalised_code, reference_program

MBPP = Path(__file__).parents[3] / "shared" / "data" / "mbpp"
pytestmark = pytest.mark.skipif(not MBPP.is_dir(), reason="MBPP is not beside this checkout (../shared/data/mbpp)")


@pytest.fixture(scope="module")
def records() -> dict[str, dict[str, Any]]:
    lines = map(json.loads, (MBPP / "mbpp.jsonl").read_text().splitlines())
    return {f"mbpp-stdio/{record['task_id']}": record for record in lines}


@pytest.fixture(scope="module")
def tasks() -> dict[str, list[Task]]:
    source = str(MBPP / "mbpp.jsonl")
    return {split: list(MbppStdio().tasks(split, source=source)) for split in MbppStdio.splits}


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Verifier]:
    with Verifier("bubblewrap", 2) as verifier:
        yield verifier


@pytest.fixture(scope="module")
def python() -> Language:
    """Python as the benchmarks run it, without the packages that are installed: it starts in half the time."""
    language = load_plugins().language("python")
    return language.model_copy(update={"execute": language.execute.replace("python3", "python3 -S -B")})


def test_the_numbers_of_tasks_are_those_that_the_documentation_gives(tasks: dict[str, list[Task]]) -> None:
    assert {split: len(of_split) for split, of_split in tasks.items()} == {"train": 298, "validation": 75, "test": 422}
    assert sum(len(task.tests) for of_split in tasks.values() for task in of_split) == 2398


def test_no_solution_is_in_two_splits_even_under_other_names(
    tasks: dict[str, list[Task]], records: dict[str, dict[str, Any]]
) -> None:
    solutions = {
        split: {normalised_code(records[task.id]["code"]) for task in of_split} for split, of_split in tasks.items()
    }
    for one, other in combinations(solutions, 2):
        assert solutions[one].isdisjoint(solutions[other])


@pytest.mark.slow
def test_every_task_is_solved_by_the_solution_of_its_problem(
    tasks: dict[str, list[Task]], records: dict[str, dict[str, Any]], sandbox: Verifier, python: Language
) -> None:
    every = [in_one_test(task) for of_split in tasks.values() for task in of_split]
    futures = [(task, sandbox.submit(python, reference_program(records[task.id]), task)) for task in every]
    results = [(task.id, future.result(timeout=300)) for task, future in futures]
    assert len(results) == 795
    assert [(name, result.tests) for name, result in results if not result.accepted] == []


def test_the_solution_of_another_problem_is_rejected(
    tasks: dict[str, list[Task]], records: dict[str, dict[str, Any]], sandbox: Verifier, python: Language
) -> None:
    by_id = {task.id: task for task in tasks["test"]}
    square, triangle = (records[f"mbpp-stdio/{number}"] for number in (17, 14))
    assert sandbox.verify(python, reference_program(square), by_id["mbpp-stdio/17"]).accepted
    assert not sandbox.verify(python, reference_program(triangle), by_id["mbpp-stdio/17"]).accepted
