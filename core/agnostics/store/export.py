"""Streaming export of rows: JSON Lines, CSV and Parquet."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, fields
from io import TextIOWrapper
from itertools import islice
from typing import Any, BinaryIO, TypeVar

from agnostics.types.errors import MissingRequirement

Row = TypeVar("Row")
Writer = Callable[[type[Any], Iterable[Any], BinaryIO], None]
"""Writes rows, dataclasses of one type, into an open file."""
_PORTION = 1000


def write_jsonl(_: type[Any], rows: Iterable[Any], file: BinaryIO) -> None:
    """One object per line."""
    for row in rows:
        file.write(json.dumps(asdict(row), ensure_ascii=False).encode() + b"\n")


def write_csv(row_type: type[Any], rows: Iterable[Any], file: BinaryIO) -> None:
    """A header, then one record per row; null is an empty field. Texts of several lines are quoted."""
    names = [field.name for field in fields(row_type)]
    text = TextIOWrapper(file, encoding="utf-8", newline="", write_through=True)
    try:
        lines = csv.writer(text)
        lines.writerow(names)
        lines.writerows([getattr(row, name) for name in names] for row in rows)
    finally:
        text.detach()


def write_parquet(row_type: type[Any], rows: Iterable[Any], file: BinaryIO) -> None:
    """Columns with their types, a thousand rows at a time. Raises MissingRequirement without pyarrow."""
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ModuleNotFoundError as error:
        raise MissingRequirement(f"{error.name} is not installed; run: pip install 'agnostics[frames]'") from error
    messages = pa.list_(pa.struct([("role", pa.string()), ("content", pa.string())]))
    types = {
        "bool": pa.bool_(),
        "float": pa.float64(),
        "int": pa.int64(),
        "str": pa.string(),
        "tuple[Message, ...]": messages,
    }
    schema = pa.schema([(field.name, types[str(field.type).removesuffix(" | None")]) for field in fields(row_type)])
    with parquet.ParquetWriter(file, schema, compression="zstd") as writer:
        for portion in _portions(rows):
            writer.write_batch(pa.RecordBatch.from_pylist([asdict(row) for row in portion], schema))


FORMATS: Mapping[str, Writer] = {"jsonl": write_jsonl, "csv": write_csv, "parquet": write_parquet}


def _portions(rows: Iterable[Row]) -> Iterator[list[Row]]:
    left = iter(rows)
    while portion := list(islice(left, _PORTION)):
        yield portion
