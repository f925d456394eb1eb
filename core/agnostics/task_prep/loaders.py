"""Which of the formats of function-and-assert problems a file has, and the problems in it."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from agnostics.task_prep import exercism, humaneval, mbpp
from agnostics.task_prep.problem import Problem
from agnostics.types.errors import UsageError

Records = list[Mapping[str, Any]]


def problems_in(path: Path) -> list[Problem] | None:
    """The problems in a file of MBPP, HumanEval or Exercism (JSON, or lines of it, `.gz` too); None if it holds others.

    Raises UsageError where the file cannot be read or a record is malformed.
    """
    if not path.name.removesuffix(".gz").endswith((".json", ".jsonl")):
        return None
    try:
        with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as file:
            records = _records(file)
    except (OSError, EOFError) as error:
        raise UsageError(f"{path}: not readable: {error}") from error
    except (ValueError, TypeError, RecursionError) as error:
        raise UsageError(f"{path}: neither JSON nor lines of JSON: {error}") from error
    return None if records is None else _problems(path, records)


def _records(lines: Iterable[bytes]) -> Records | None:
    """The records of a file; None, and no more than the first line read, where they are of another kind."""
    rest = iter(lines)
    first = next(rest, b"")
    try:
        head = json.loads(first)
    except ValueError:
        return _whole(json.loads(first + b"".join(rest)))
    known = _whole(head)
    return None if known is None else [*known, *(json.loads(line) for line in rest if line.strip())]


def _whole(value: Any) -> Records | None:
    """The records of one JSON value."""
    if isinstance(value, dict) and value.keys() >= exercism.WHOLE:
        return list(exercism.cases_in(value))
    records = value if isinstance(value, list) else [value]
    known = (exercism.KEYS, humaneval.KEYS, mbpp.KEYS)
    return records if records and any(keys <= _keys(records[0]) for keys in known) else None


def _keys(record: Any) -> set[str]:
    return set(record) if isinstance(record, dict) else set()


def _problems(path: Path, records: Records) -> list[Problem]:
    try:
        found = list(_read(records))
    except ValidationError as error:
        first = error.errors()[0]
        raise UsageError(f"{path}: {'.'.join(map(str, first['loc']))}: {first['msg']}") from error
    ids = set[str]()
    for problem in found:
        if problem.id in ids:
            raise UsageError(f"{path}: the id {problem.id!r} is there twice; ids must differ")
        ids.add(problem.id)
    return found


def _read(records: Records) -> Iterator[Problem]:
    if _keys(records[0]) >= exercism.KEYS:
        return exercism.problems(records)
    reader = humaneval.problem if _keys(records[0]) >= humaneval.KEYS else mbpp.problem
    return map(reader, records)
