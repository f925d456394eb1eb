"""The tasks of a run: those to train on, those that choose the best checkpoint, and those that measure the result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from agnostics.rollout.schedule import round_robin_order
from agnostics.train.config import RunConfig
from agnostics.types.dataset import Dataset
from agnostics.types.errors import UsageError
from agnostics.types.task import Task

HELD_BACK = 10
"""One training task in this many is held back for validation at most, if the data set has no validation split."""


@dataclass(frozen=True, slots=True)
class TaskSplits:
    """The tasks of a run by their use; no task is in two of them."""

    train: list[Task]
    validation: list[Task]
    """Evaluated during training, to choose the best checkpoint; empty if nothing is evaluated during training."""
    test: list[Task]
    """Evaluated before and after training."""

    @property
    def all(self) -> list[Task]:
        """All tasks."""
        return [*self.train, *self.validation, *self.test]


def task_splits(config: RunConfig, adapter: Dataset, source: str | None) -> TaskSplits:
    """The tasks of the run that `config` describes; they follow from the data set and the seed.

    Raises UsageError if there is none to train on.
    """
    evaluation = config.evaluation
    train = list(adapter.tasks("train", source=source, seed=config.seed))
    if not train:
        raise UsageError(f"the data set {config.dataset} has no task in its split 'train'")
    test = _drawn(_of_split(evaluation.split, config, adapter, source), evaluation.tasks, config.seed)
    if not evaluation.eval_interval:
        return TaskSplits(train, [], test)
    validation = _of_split(evaluation.validation_split, config, adapter, source)
    if validation:
        return TaskSplits(train, _drawn(validation, evaluation.tasks, config.seed), test)
    held_back = _drawn(train, min(evaluation.tasks, len(train) // HELD_BACK), config.seed)
    ids = {task.id for task in held_back}
    return TaskSplits([task for task in train if task.id not in ids], held_back, test)


def _of_split(split: str, config: RunConfig, adapter: Dataset, source: str | None) -> list[Task]:
    """All tasks of a held-out split; none if the adapter does not have it, or if nothing is evaluated."""
    if not config.evaluation.tasks or split not in adapter.splits:
        return []
    return list(adapter.tasks(split, source=source, seed=config.seed))


def _drawn(tasks: Sequence[Task], count: int, seed: int) -> list[Task]:
    """`count` of `tasks`, drawn from all of them, families in turn."""
    order = round_robin_order(tuple(task.family for task in tasks), seed)
    return [tasks[place] for place in order[:count]]
