"""The starter-families data set: nothing of a held-out split is in training, and every task says and tests enough."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable
from itertools import combinations

import pytest
from agnostics.plugins.manager import load_plugins
from agnostics.types.errors import UsageError
from agnostics.types.task import Task
from agnostics_datasets.starter import FAMILIES as STARTER
from agnostics_datasets.starter_families import StarterFamilies
from agnostics_datasets.starter_families.families import FAMILIES
from agnostics_datasets.starter_families.splits import SPLITS, TEST, VALIDATION

PAIRS = list(combinations(SPLITS, 2))
SEEDS = {"train": 0, "validation": 7, "test": 8}
"""Another seed for each split: what is disjoint must be so whatever the seeds."""
PACKS = {"fortran", "julia", "lua", "ocaml", "r"}
Tasks = dict[str, list[Task]]


@pytest.fixture(scope="module")
def tasks() -> Tasks:
    return {split: list(StarterFamilies().tasks(split, seed=SEEDS[split])) for split in SPLITS}


def test_there_are_families_enough_to_train_on_and_to_resample(tasks: Tasks) -> None:
    families = {split: {task.family for task in tasks[split]} for split in SPLITS}
    assert len(families["train"]) >= 40
    assert len(families["validation"]) >= 20
    assert len(families["test"]) >= 40
    assert {*TEST, *VALIDATION} <= {*FAMILIES}
    assert sum(map(len, families.values())) == len(FAMILIES)
    assert len({task.id for split in SPLITS for task in tasks[split]}) == sum(map(len, tasks.values()))


@pytest.mark.parametrize(("one", "other"), PAIRS)
def test_no_family_statement_or_parameter_value_is_in_two_splits(one: str, other: str, tasks: Tasks) -> None:
    for part in (_families, _statements, _values):
        assert part(tasks[one]).isdisjoint(part(tasks[other])), part


@pytest.mark.parametrize(("one", "other"), PAIRS)
def test_no_statement_is_in_two_splits_with_other_constants(one: str, other: str, tasks: Tasks) -> None:
    assert _skeletons(tasks[one]).isdisjoint(_skeletons(tasks[other]))


@pytest.mark.parametrize(("one", "other"), PAIRS)
def test_no_input_and_so_no_test_is_in_two_splits(one: str, other: str, tasks: Tasks) -> None:
    inputs = [{test.input for task in tasks[split] for test in task.tests} for split in (one, other)]
    assert inputs[0].isdisjoint(inputs[1])


@pytest.mark.parametrize("family", ["distinct_count", "distinct_join"])
def test_a_program_that_counts_repeated_values_twice_fails(family: str, tasks: Tasks) -> None:
    for task in (task for task in tasks["test"] if task.family == family):
        lists = [test.input.split()[1:] for test in task.tests]
        assert any(len(set(values)) < len(values) for values in lists), task.id


@pytest.mark.parametrize("name", sorted(PACKS))
def test_no_reference_program_is_in_two_splits(name: str, tasks: Tasks) -> None:
    """Neither with the constants of the tasks nor without: of each pack, for the families that it has programs for."""
    language = load_plugins().language(name)
    known = {split: [task for task in tasks[split] if task.family in language.reference] for split in SPLITS}
    programs = {split: {language.reference_for(task) for task in known[split]} for split in SPLITS}
    templates = {split: {_masked(language.reference[str(task.family)]) for task in known[split]} for split in SPLITS}
    for one, other in PAIRS:
        assert programs[one].isdisjoint(programs[other])
        assert templates[one].isdisjoint(templates[other])
    assert min(len(templates[split]) for split in SPLITS) >= 8


def test_every_pack_with_reference_programs_is_checked() -> None:
    assert {language.name for language in load_plugins().languages().values() if language.reference} == PACKS


def test_a_seed_gives_the_same_tasks_on_every_machine() -> None:
    told = "\n".join(task.model_dump_json(exclude_defaults=True) for task in StarterFamilies().tasks("test"))
    assert hashlib.sha256(told.encode()).hexdigest()[:16] == "e26d9fab7f75c005"


def test_another_seed_gives_the_same_statements_with_other_tests(tasks: Tasks) -> None:
    other = {task.statement: task for task in StarterFamilies().tasks("test", seed=1)}
    assert _statements(tasks["test"]) == set(other)
    assert sum(other[task.statement].tests == task.tests for task in tasks["test"]) < len(other) / 100


def test_no_constant_and_no_echo_of_the_input_passes(tasks: Tasks) -> None:
    for task in (task for split in SPLITS for task in tasks[split]):
        commonest = Counter(test.output for test in task.tests).most_common(1)[0][1]
        echoes = sum(test.output.split() == test.input.split() for test in task.tests)
        assert max(commonest, echoes) <= len(task.tests) * 2 / 3, task


def test_statements_and_tests_are_complete(tasks: Tasks) -> None:
    for task in (task for split in SPLITS for task in tasks[split]):
        assert not {"{", "}"} & set(task.statement + "".join(test.input + test.output for test in task.tests)), task
        assert len({test.input for test in task.tests}) == 6
        assert all(test.input.endswith("\n") and test.output.strip() for test in task.tests)
        assert all(str(value) in task.statement for value in task.parameters.values()), task


def test_families_of_starter_are_asked_for_in_the_same_words() -> None:
    assert STARTER.keys() < FAMILIES.keys()
    assert all(FAMILIES[name].goals == family.goals for name, family in STARTER.items())


def test_an_unknown_split_or_a_source_is_refused_at_once() -> None:
    with pytest.raises(UsageError, match="unknown split 'valid'; did you mean 'validation'"):
        StarterFamilies().tasks("valid")
    with pytest.raises(UsageError, match="reads no file"):
        StarterFamilies().tasks("train", source="tasks.jsonl")


def _families(tasks: Iterable[Task]) -> set[str | None]:
    return {task.family for task in tasks}


def _statements(tasks: Iterable[Task]) -> set[str]:
    return {task.statement for task in tasks}


def _values(tasks: Iterable[Task]) -> set[int | str]:
    return {value for task in tasks for value in task.parameters.values()}


def _skeletons(tasks: Iterable[Task]) -> set[str]:
    """The statements with their parameters masked."""
    return {_skeleton(task) for task in tasks}


def _skeleton(task: Task) -> str:
    values = sorted(map(str, task.parameters.values()), key=len, reverse=True)
    alternatives = "|".join(rf"(?<!\w){re.escape(value)}(?!\w)" for value in values)
    return re.sub(alternatives, "@", task.statement) if values else task.statement


def _masked(program: str) -> str:
    return re.sub(r"@\w+@", "@", program)
