"""Dataset adapters: where tasks come from."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import ClassVar

from agnostics.task import Task


class Dataset(ABC):
    """A source of tasks, registered through `agn_datasets`. Subclass it, name it, and yield tasks."""

    name: ClassVar[str]
    description: ClassVar[str]
    license: ClassVar[str]
    splits: ClassVar[tuple[str, ...]] = ("train", "test")
    suffixes: ClassVar[tuple[str, ...]] = ()
    """File endings that this adapter reads, so that a bare path finds it (`.jsonl`)."""
    evaluation_only: ClassVar[bool] = False
    """True where the licence forbids training: `agn run` refuses the data set and says why."""

    @abstractmethod
    def tasks(self, split: str, *, source: str | None = None, seed: int = 0) -> Iterator[Task]:
        """The tasks of `split`, from `source` (a file or a hub name) where the adapter needs one, made from `seed`.

        Raises UsageError for an unknown split, a missing source or a malformed record (with its line).
        """
