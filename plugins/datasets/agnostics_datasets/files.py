"""Records of local files, one at a time: JSONL, JSON, CSV and Parquet, the first three also as .gz."""

from __future__ import annotations

import csv
import gzip
import io
import json
import re
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any, cast

from agnostics import MissingRequirement, UsageError, describe_error

Row = tuple[str, Any]
"""The location of a record, for error messages, and the record."""

_CELL = 1 << 30
"""The maximum length of a CSV cell; tests can be long."""


def file_rows(source: str, split: str, splits: Sequence[str]) -> Iterator[Row]:
    """The records of `split` in `source`: a file, or a folder of files, laid out as a repository of the hub.

    The split of a file is the one that its name begins with (`test2.jsonl`, `train-00000-of-00003.parquet`). Without
    such a prefix, `source` itself belongs to the first of `splits`, and a file in a folder to none. One file is open
    and one record in memory at a time, except that `.json` is one value and read whole. Raises UsageError, immediately
    for a missing file, and with the line for a malformed record.
    """
    path = Path(source)
    if path.is_dir():
        found = sorted((file for file in path.iterdir() if _ending(file) in _READERS), key=_in_order)
        if not any(map(_is_of_one_of(splits), found)):
            raise UsageError(f"{path}: holds no files such as {splits[0]}.jsonl or {splits[0]}.parquet")
        return _rows(list(filter(_is_of_one_of([split]), found)))
    if not path.exists():
        raise UsageError(f"{path}: no such file")
    if _ending(path) not in _READERS:
        raise UsageError(f"{path}: expected a file ending in {', '.join(_READERS)}, or a folder of them")
    its_split = next((split for split in splits if path.name.startswith(split)), splits[0])
    return _rows([path] if its_split == split else [])


def _is_of_one_of(splits: Sequence[str]) -> Callable[[Path], bool]:
    return lambda path: path.name.startswith(tuple(splits))


def _in_order(path: Path) -> list[int | str]:
    """A sort key with `test2` before `test10`. Text and numbers alternate, so that equal types are compared."""
    return [int(part) if part.isdecimal() else part for part in re.split(r"(\d+)", path.name.partition(".")[0])]


def _ending(path: Path) -> str:
    return Path(path.name.removesuffix(".gz")).suffix


def _rows(paths: Sequence[Path]) -> Iterator[Row]:
    for path in paths:
        try:
            with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
                yield from _READERS[_ending(path)](str(path), cast(IO[bytes], file))
        except (OSError, EOFError, zlib.error) as error:
            raise UsageError(f"{path}: {getattr(error, 'strerror', None) or error}") from error


def _json_lines(name: str, file: IO[bytes]) -> Iterator[Row]:
    for number, line in enumerate(file, start=1):
        if line.strip():
            yield f"{name}:{number}", _parsed(line, f"{name}:{number}: not a line of JSON")


def _json(name: str, file: IO[bytes]) -> Iterator[Row]:
    records = _parsed(file.read(), f"{name}: not a JSON file")
    if not isinstance(records, list):
        raise UsageError(f"{name}: expected a JSON array of records")
    for number, record in enumerate(records, start=1):
        yield f"{name}: record {number}", record


def _parsed(text: bytes, complaint: str) -> Any:
    try:
        return json.loads(text.decode())
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{complaint}: {error}") from error


def _csv(name: str, file: IO[bytes]) -> Iterator[Row]:
    csv.field_size_limit(_CELL)
    reader = csv.DictReader(io.TextIOWrapper(file, encoding="utf-8-sig", newline=""), strict=True)
    try:
        for record in reader:
            where = f"{name}:{reader.line_num}"
            if None in record or None in record.values():
                raise UsageError(f"{where}: expected {len(reader.fieldnames or ())} cells, as in the header")
            yield where, record
    except (csv.Error, UnicodeDecodeError) as error:
        raise UsageError(f"{name}:{reader.line_num}: not a row of CSV: {error}") from error


def _parquet(name: str, file: IO[bytes]) -> Iterator[Row]:
    try:
        from pyarrow import ArrowException
        from pyarrow.parquet import ParquetFile
    except ImportError:
        raise MissingRequirement(f"{name}: to read Parquet: pip install 'agnostics-datasets[hub]'") from None
    number = 0
    try:
        for batch in ParquetFile(file).iter_batches(batch_size=16):
            for record in batch.to_pylist():
                number += 1
                yield f"{name}: row {number}", record
    except ArrowException as error:
        raise UsageError(f"{name}: not a Parquet file: {describe_error(error)}") from error


_READERS: dict[str, Callable[[str, IO[bytes]], Iterator[Row]]] = {
    ".jsonl": _json_lines,
    ".json": _json,
    ".csv": _csv,
    ".parquet": _parquet,
}
