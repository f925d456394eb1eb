"""The starter data set: many families, no leak between splits, reproducible tasks, no test that a constant passes."""

from __future__ import annotations

import hashlib
from collections import Counter

import pytest
from agnostics.types.errors import UsageError
from agnostics.types.task import Task
from agnostics_datasets.starter import FAMILIES, Starter


@pytest.fixture(scope="module")
def train() -> list[Task]:
    return list(Starter().tasks("train"))


@pytest.fixture(scope="module")
def test() -> list[Task]:
    return list(Starter().tasks("test"))


def test_there_are_thousands_of_statements_of_dozens_of_families(train: list[Task], test: list[Task]) -> None:
    assert len({task.family for task in train}) == len({task.family for task in test}) == len(FAMILIES) >= 49
    assert len({task.statement for task in train + test}) == len(train) + len(test) > 9000
    assert 0.15 < len(test) / len(train + test) < 0.25


def test_no_statement_of_one_split_is_in_the_other_whatever_the_seed(train: list[Task]) -> None:
    other_seed = {(task.family, task.statement) for task in Starter().tasks("test", seed=7)}
    assert other_seed.isdisjoint((task.family, task.statement) for task in train)


def test_a_seed_gives_the_same_tasks_on_every_machine(train: list[Task]) -> None:
    told = "\n".join(task.model_dump_json(exclude_defaults=True) for task in train[:300])
    assert hashlib.sha256(told.encode()).hexdigest()[:16] == "e6f9b64bcccea7eb"


def test_another_seed_gives_other_inputs_and_another_order(train: list[Task]) -> None:
    other = {task.statement: task for task in Starter().tasks("train", seed=1)}
    assert list(other) != [task.statement for task in train]
    assert sum(other[task.statement].tests == task.tests for task in train) < len(train) / 100


def test_no_constant_output_passes_a_task(train: list[Task], test: list[Task]) -> None:
    for task in train + test:
        assert 5 <= len({t.input for t in task.tests}) <= 8
        commonest = Counter(t.output for t in task.tests).most_common(1)[0][1]
        assert commonest <= len(task.tests) * 2 / 3, task


def test_no_task_is_solved_by_printing_what_was_read(train: list[Task], test: list[Task]) -> None:
    for task in train + test:
        assert sum(t.output.split() == t.input.split() for t in task.tests) <= len(task.tests) * 2 / 3, task


def test_held_out_inputs_include_some_that_training_lacks(train: list[Task], test: list[Task]) -> None:
    def inputs(tasks: list[Task], family: str) -> list[str]:
        return [t.input for task in tasks if task.family == family for t in task.tests]

    for family in ("add", "sum_plus", "sum_separated"):
        assert not any("-" in text for text in inputs(train, family))
        assert any("-" in text for text in inputs(test, family))
    for family in ("append", "gcd", "count_long", "scale"):
        assert max(map(len, inputs(test, family))) > max(map(len, inputs(train, family)))
    assert max(map(int, inputs(test, "fizz"))) > max(map(int, inputs(train, "fizz")))


def test_statements_texts_and_outputs_are_complete(train: list[Task], test: list[Task]) -> None:
    for task in train + test:
        assert not {"{", "}", "@"} & set(task.statement + "".join(t.input + t.output for t in task.tests)), task
        assert all(t.input.endswith("\n") and t.output.strip() for t in task.tests)
        assert set(task.parameters) == set(FAMILIES[str(task.family)].parameters)
        assert task.limits.run_s == 1


def test_every_block_holds_every_family_as_often(test: list[Task]) -> None:
    assert Counter(task.family for task in test[: 3 * len(FAMILIES)]) == dict.fromkeys(FAMILIES, 3)


def test_an_unknown_split_or_a_source_is_refused_at_once() -> None:
    with pytest.raises(UsageError, match="unknown split 'tset'; did you mean 'test'"):
        Starter().tasks("tset")
    with pytest.raises(UsageError, match="reads no file"):
        Starter().tasks("train", source="tasks.jsonl")
