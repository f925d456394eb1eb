"""Dataset adapters: the sources of tasks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from agnostics.types.errors import UsageError
from agnostics.types.task import Task


@dataclass(frozen=True)
class HubSource:
    """A data set on the Hugging Face hub."""

    repository: str
    revision: str | None
    """The full hash of the commit that is read; None reads the newest."""
    configuration: str | None = None
    files: Mapping[str, str] = field(default_factory=dict)
    """The files of each split as a pattern, if the repository does not declare them."""
    columns: tuple[str, ...] = ()
    """The columns that are read of Parquet files with other, large ones; empty for all."""

    def __str__(self) -> str:
        parts = [self.repository, *filter(None, [self.configuration])]
        return f"{' '.join(parts)} at {self.revision or 'its newest revision'}"


class Dataset(ABC):
    """A source of tasks, registered through `agn_datasets` and chosen by its name. Subclass it and yield tasks."""

    name: ClassVar[str]
    description: ClassVar[str]
    license: ClassVar[str]
    splits: ClassVar[tuple[str, ...]] = ("train", "test")
    suffixes: ClassVar[tuple[str, ...]] = ()
    """File endings that this adapter reads, so that a bare path finds it (`.jsonl`)."""
    evaluation_only: ClassVar[bool] = False
    """True if the licence forbids training: `agn run` then refuses the data set and names the reason."""
    size: ClassVar[str] = "unknown"
    """The number of tasks, in words."""
    fields: ClassVar[Mapping[str, str]] = {}
    """The part of a task that each field of the source becomes; other fields are not read."""
    hub: ClassVar[HubSource | None] = None
    """The place that tasks are read from if no source is given."""

    @abstractmethod
    def tasks(self, split: str, *, source: str | None = None, seed: int = 0) -> Iterator[Task]:
        """The tasks of `split`, from `source` (a file or a hub name, if the adapter takes one), generated from `seed`.

        Raises UsageError for an unknown split, a missing source or a malformed record (with its line).
        """

    def reseal(self, task: Task, seed: int) -> Task:
        """The task with fresh tests, generated from `seed` and its id, for tests that a policy may have seen.

        An adapter overrides this if it has a reference solution of the task, which must first reproduce every published
        output. Raises UsageError if it cannot make fresh tests, or if an output is not reproduced.
        """
        raise UsageError(f"the data set {self.name!r} cannot make fresh tests (task {task.id!r}, seed {seed})")
