"""Problems: the tasks of an agent session, with their hidden tests."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from agnostics.types.dataset import Dataset
from agnostics.types.errors import UsageError
from agnostics.types.language import Language
from agnostics.types.task import Task


@dataclass(frozen=True, slots=True)
class Problem:
    """A task of an agent session; all its tests are hidden. `unsolvable` is the reason why no program can solve it."""

    task: Task
    unsolvable: str | None = None

    @property
    def id(self) -> str:
        """The id by which a player names it: the task's."""
        return self.task.id

    @property
    def tier(self) -> str:
        """Its difficulty tier; empty if the data set has none."""
        return self.task.difficulty or ""


def make_problems(dataset: Dataset, tasks: Iterable[Task], language: Language, seed: int | None) -> list[Problem]:
    """The problems of `tasks`, in their order; with a seed, with fresh hidden tests in place of the published ones.

    Raises UsageError if there are none, if the ids of two are equal, or if the data set cannot make fresh tests.
    """
    chosen = [task if seed is None else dataset.reseal(task, seed) for task in tasks]
    ids = [task.id for task in chosen]
    if not ids:
        raise UsageError(f"the data set {dataset.name!r} has no problems in this split")
    if repeated := next((one for one in ids if ids.count(one) > 1), None):
        raise UsageError(f"the data set {dataset.name!r} has two problems with the id {repeated!r}; ids must differ")
    return [Problem(task, dataset.known_unsolvable(task, language)) for task in chosen]
