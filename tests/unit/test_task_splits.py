"""The tasks of a run: what chooses the best checkpoint neither trains nor measures."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from agnostics.plugins.manager import load_plugins
from agnostics.train.config import EvaluationConfig, RunConfig
from agnostics.train.task_splits import TaskSplits, task_splits
from agnostics.types.errors import UsageError
from agnostics_datasets.jsonl import JsonLines
from agnostics_datasets.math_answers import MathAnswers
from agnostics_datasets.starter_families import StarterFamilies
from pydantic import ValidationError

Counts = dict[str, int]


def _file(folder: Path, **counts: int) -> str:
    """Tasks of three families for each split."""
    path = folder / "tasks.jsonl"
    tasks = [
        {"id": f"{split}-{n}", "tests": [{"input": "", "output": "1"}], "split": split, "family": str(n % 3)}
        for split, count in counts.items()
        for n in range(count)
    ]
    path.write_text("".join(json.dumps(task) + "\n" for task in tasks))
    return str(path)


def _splits(source: str, seed: int = 0, **evaluation: int | str) -> TaskSplits:
    config = RunConfig(seed=seed, evaluation=EvaluationConfig.model_validate(evaluation))
    return task_splits(config, JsonLines(), source)


def _ids(splits: TaskSplits) -> tuple[list[str], list[str], list[str]]:
    train, validation, test = ([task.id for task in part] for part in (splits.train, splits.validation, splits.test))
    return train, validation, test


def test_a_run_that_evaluates_before_and_after_only_trains_on_all_training_tasks(tmp_path: Path) -> None:
    train, validation, test = _ids(_splits(_file(tmp_path, train=30, test=5), tasks=4))
    assert train == [f"train-{n}" for n in range(30)]
    assert validation == []
    assert len(test) == 4


def test_a_data_set_without_training_tasks_is_refused_by_its_name(tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    path.write_text(json.dumps({"question": "1 + 1?", "answer": "2"}) + "\n")
    with pytest.raises(UsageError, match="the data set math has no task in its split 'train'"):
        task_splits(RunConfig(dataset="math"), MathAnswers(), str(path))


def test_a_validation_split_chooses_the_best_checkpoint_where_there_is_one(tmp_path: Path) -> None:
    source = _file(tmp_path, train=30, validation=6, test=5)
    train, validation, test = _ids(_splits(source, tasks=4, eval_interval=1))
    assert len(train) == 30
    assert {name.partition("-")[0] for name in validation} == {"validation"}
    assert (len(validation), len(test)) == (4, 4)


@pytest.mark.parametrize(("tasks", "count"), [(2, 2), (100, 6)])
def test_otherwise_at_most_a_tenth_of_the_training_tasks_is_held_back(tasks: int, count: int, tmp_path: Path) -> None:
    splits = _splits(_file(tmp_path, train=60, test=5), tasks=tasks, eval_interval=1)
    train, validation, test = _ids(splits)
    assert len(validation) == count
    assert sorted([*train, *validation]) == sorted(f"train-{n}" for n in range(60))
    assert not {*validation} & {*test}
    if count == 6:
        assert Counter(task.family for task in splits.validation) == {"0": 2, "1": 2, "2": 2}


def test_what_is_held_back_follows_from_the_seed(tmp_path: Path) -> None:
    source = _file(tmp_path, train=60)
    first = _ids(_splits(source, eval_interval=1))
    assert _ids(_splits(source, eval_interval=1)) == first
    assert _ids(_splits(source, seed=1, eval_interval=1))[1] != first[1]


def test_nothing_is_held_back_of_a_handful_of_tasks_or_if_nothing_is_evaluated(tmp_path: Path) -> None:
    source = _file(tmp_path, train=9, test=1)
    assert _ids(_splits(source, eval_interval=1)) == ([f"train-{n}" for n in range(9)], [], ["test-0"])
    assert _ids(_splits(source, eval_interval=1, tasks=0))[1:] == ([], [])


@pytest.mark.parametrize("split", ["test", "train"])
def test_the_split_that_measures_or_trains_cannot_choose(split: str) -> None:
    with pytest.raises(ValidationError, match="must be a split of its own"):
        EvaluationConfig(eval_interval=1, validation_split=split)
    EvaluationConfig(validation_split=split)


def test_the_held_out_split_may_be_named_validation_if_nothing_else_is() -> None:
    assert EvaluationConfig(split="validation").eval_interval == 0


def test_families_of_validation_tasks_are_not_those_of_held_out_tasks() -> None:
    config = RunConfig(dataset="starter-families", evaluation=EvaluationConfig(eval_interval=1, tasks=60))
    splits = task_splits(config, StarterFamilies(), None)
    families = [{task.family for task in part} for part in (splits.train, splits.validation, splits.test)]
    assert [len(part) for part in families] == [87, 21, 52]
    assert len(set.union(*families)) == 87 + 21 + 52
    assert "starter-families" in load_plugins().datasets()
