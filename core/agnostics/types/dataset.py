"""Dataset adapters: where tasks come from."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from agnostics.types.task import Task


@dataclass(frozen=True)
class HubSource:
    """Where a data set is on the Hugging Face hub."""

    repository: str
    revision: str | None
    """The commit that is read, by its whole hash: what is published later changes nothing. None reads the newest."""
    configuration: str | None = None
    files: Mapping[str, str] = field(default_factory=dict)
    """The files of each split, as a pattern, where the repository does not say so itself."""
    columns: tuple[str, ...] = ()
    """The columns that are read, where the files are Parquet and have others that are large; none for all of them."""

    def __str__(self) -> str:
        parts = [self.repository, *filter(None, [self.configuration])]
        return f"{' '.join(parts)} at {self.revision or 'its newest revision'}"


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
    size: ClassVar[str] = "unknown"
    """How much there is, in words, as far as it is known."""
    fields: ClassVar[Mapping[str, str]] = {}
    """What becomes of each field of the source; those that are not named are not read."""
    hub: ClassVar[HubSource | None] = None
    """Where it is read from when no source is named."""

    @abstractmethod
    def tasks(self, split: str, *, source: str | None = None, seed: int = 0) -> Iterator[Task]:
        """The tasks of `split`, from `source` (a file or a hub name) where the adapter needs one, made from `seed`.

        Raises UsageError for an unknown split, a missing source or a malformed record (with its line).
        """
