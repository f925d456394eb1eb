"""Base of the adapters of published data sets: records are streamed, validated, and converted into tasks."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from typing import ClassVar, Generic, TypeVar

from agnostics import Dataset, Task, UsageError, unknown_name_error
from pydantic import BaseModel, ConfigDict, ValidationError

from agnostics_datasets.files import Row, file_rows
from agnostics_datasets.hub import hub_rows


class Fields(BaseModel):
    """The fields of a record that are read. The validator is built for the first record."""

    model_config = ConfigDict(defer_build=True)  # every `agn` command imports every adapter


R = TypeVar("R", bound=Fields)


class Records(Dataset, Generic[R]):
    """A data set of records, from the hub or from local files in the same format.

    Memory is constant in the number of records. A subclass defines the record, and its conversion into a task.
    """

    record: type[R]
    """The fields that are read, with their types."""
    stored: ClassVar[str | None] = None
    """The only split of the source, if the adapter divides it itself."""

    def tasks(self, split: str, *, source: str | None = None, seed: int = 0) -> Iterator[Task]:
        """The tasks of `split`, in the source's order; see `Dataset.tasks`."""
        if split not in self.splits:
            raise unknown_name_error("split", split, self.splits)
        return self._tasks(self.rows(self.stored or split, source), split, seed)

    def rows(self, split: str, source: str | None) -> Iterator[Row]:
        """The records of a split of the source, with their locations."""
        if source is not None:
            return file_rows(source, split, (self.stored,) if self.stored else self.splits)
        if self.hub is None:
            raise UsageError(f"the data set {self.name!r} needs its file: {self.name}:FILE")
        return hub_rows(self.hub, split)

    def belongs(self, record: R, split: str) -> bool:
        """Whether a record of the source is in `split`, if the adapter divides them."""
        return True

    @abstractmethod
    def task(self, record: R, number: int, split: str, seed: int) -> Task | None:
        """The task of a record, the `number`th of the source's split from 0; None if it is not usable.

        Raises ValueError if the record is inconsistent.
        """

    def _tasks(self, rows: Iterator[Row], split: str, seed: int) -> Iterator[Task]:
        for number, (where, row) in enumerate(rows):
            with complaining(where):
                record = self.record.model_validate(row)
                task = self.task(record, number, split, seed) if self.belongs(record, split) else None
            if task is not None:
                yield task


@contextmanager
def complaining(where: str) -> Iterator[None]:
    """Convert a validation error of the record at `where` into a UsageError."""
    try:
        yield
    except (ValueError, RecursionError) as error:  # ValidationError is a ValueError
        raise UsageError(f"{where}: {_complaint(error)}") from error


def _complaint(error: Exception) -> str:
    if not isinstance(error, ValidationError):
        return " ".join(str(error).split())
    first = error.errors()[0]
    return ": ".join(filter(None, [".".join(map(str, first["loc"])), first["msg"]]))
