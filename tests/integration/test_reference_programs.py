"""Every reference program of every pack is accepted, on inputs that only held-out tasks have."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from itertools import islice

import pytest
from agnostics.plugins.manager import load_plugins
from agnostics.types.errors import MissingRequirement
from agnostics.types.language import Language
from agnostics.types.task import LimitOverrides, Task
from agnostics.verify import Verifier
from agnostics_datasets.starter import KINDS, Starter

ALL = ["lua", "fortran", "r", "julia", "ocaml"]
THOROUGH = {"lua": 4, "fortran": 1}
"""Tasks of each kind, where running one program takes milliseconds."""
TESTS = 2
"""Tests of one task for the languages that start slowly; the second is of a kind that training lacks."""


@pytest.fixture(scope="module")
def held_out() -> dict[str, list[Task]]:
    tasks = defaultdict[str, list[Task]](list)
    for task in islice(Starter().tasks("test"), 4 * len(KINDS)):
        tasks[str(task.kind)].append(task)
    return tasks


@pytest.fixture(scope="module")
def bubblewrap() -> Iterator[Verifier]:
    with Verifier("bubblewrap", 2) as verifier:
        yield verifier


def _complaints(language: Language, tasks: list[Task], verifier: Verifier) -> list[str]:
    pairs = [(task, verifier.submit(language, language.reference_for(task), task)) for task in tasks]
    results = [(task, future.result(timeout=300)) for task, future in pairs]
    return [f"{task.kind} {task.parameters}: {v.verdict} {v.tests}" for task, v in results if not v.accepted]


@pytest.mark.parametrize("name", ALL)
def test_every_kind_has_a_program_that_uses_exactly_its_parameters(name: str) -> None:
    reference = load_plugins().language(name).reference
    assert set(reference) == set(KINDS)
    for kind, program in reference.items():
        assert set(re.findall(r"@(\w+)@", program)) == set(KINDS[kind].parameters), kind


@pytest.mark.slow
@pytest.mark.parametrize("name", THOROUGH)
def test_references_are_accepted(name: str, held_out: dict[str, list[Task]], bubblewrap: Verifier) -> None:
    tasks = [task for of_kind in held_out.values() for task in of_kind[: THOROUGH[name]]]
    assert _complaints(load_plugins().language(name), tasks, bubblewrap) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(set(ALL) - set(THOROUGH)))
def test_references_of_languages_that_start_slowly_are_accepted_if_they_run_here(
    name: str, held_out: dict[str, list[Task]], bubblewrap: Verifier
) -> None:
    limits = LimitOverrides(run_s=20, memory_mb=2048)
    tasks = [
        of_kind[0].model_copy(update={"tests": of_kind[0].tests[:TESTS], "limits": limits})
        for of_kind in held_out.values()
    ]
    try:
        assert _complaints(load_plugins().language(name), tasks, bubblewrap) == []
    except MissingRequirement as error:
        pytest.skip(str(error))
