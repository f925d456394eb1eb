"""Query results: rows to iterate over, or a data frame of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import fields, is_dataclass
from typing import Any, Generic, TypeVar

from agnostics.types.errors import MissingRequirement

Row = TypeVar("Row")


class Rows(Generic[Row]):
    """Rows that are read from the database during iteration, anew each time; a data frame holds all of them."""

    def __init__(self, read: Callable[[], AbstractContextManager[Iterator[Row]]]) -> None:
        self._read = read

    def __iter__(self) -> Iterator[Row]:
        with self._read() as rows:
            yield from rows

    def first(self) -> Row | None:
        """The first row, or None."""
        with self._read() as rows:
            return next(rows, None)

    def to_pandas(self) -> Any:
        """A `pandas.DataFrame`. Raises MissingRequirement without pandas."""
        try:
            import pandas
        except ModuleNotFoundError as error:
            raise _missing(error) from error
        return pandas.DataFrame([_values(row) for row in self])

    def to_polars(self) -> Any:
        """A `polars.DataFrame`. Raises MissingRequirement without polars."""
        try:
            import polars
        except ModuleNotFoundError as error:
            raise _missing(error) from error
        return polars.DataFrame([_values(row) for row in self], infer_schema_length=None)


def _values(row: Any) -> Mapping[str, Any]:
    if is_dataclass(row):
        return {field.name: getattr(row, field.name) for field in fields(row)}
    values: Mapping[str, Any] = row
    return values


def _missing(error: ModuleNotFoundError) -> MissingRequirement:
    return MissingRequirement(f"{error.name} is not installed; run: pip install 'agnostics[frames]'")
