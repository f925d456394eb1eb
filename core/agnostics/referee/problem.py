"""Problems: the tasks of an agent session, with their hidden tests."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from agnostics.types.dataset import Dataset
from agnostics.types.errors import UsageError
from agnostics.types.language import Language
from agnostics.types.task import Task
from agnostics.types.unsolvable import known_unsolvable


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

    Raises UsageError if there are none, if two have the same id, if one completes a program instead of asking for a
    whole one, or if the data set cannot make fresh tests.
    """
    chosen = [task if seed is None else dataset.reseal(task, seed) for task in tasks]
    if not chosen:
        raise UsageError(f"the data set {dataset.name!r} has no problems in this split")
    (commonest, count), *_ = Counter(task.id for task in chosen).most_common(1)
    if count > 1:
        raise UsageError(f"the data set {dataset.name!r} has two problems with the id {commonest!r}; ids must differ")
    if part := next((task for task in chosen if task.prompt_format), None):
        raise UsageError(f"task {part.id!r} takes a part of a program; a session needs whole programs")
    return [Problem(task, known_unsolvable(task, language.name)) for task in chosen]
