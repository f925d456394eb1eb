"""Loading of function problems from files: the format is recognized by the keys of the records."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from agnostics.task_prep import exercism, humaneval, mbpp
from agnostics.task_prep.problem import FunctionProblem
from agnostics.types.errors import UsageError

Records = list[Mapping[str, Any]]


def load_problems(path: Path) -> list[FunctionProblem] | None:
    """The problems in a file of MBPP, HumanEval or Exercism (JSON or JSON lines, `.gz` too); None for other formats.

    Raises UsageError if the file cannot be read or a record is malformed.
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
    """The records of a file; None after the first line if they are in another format."""
    rest = iter(lines)
    first = next(rest, b"")
    try:
        head = json.loads(first)
    except ValueError:
        return _records_of(json.loads(first + b"".join(rest)))
    first_records = _records_of(head)
    if first_records is None:
        return None
    return [*first_records, *(json.loads(line) for line in rest if line.strip())]


def _records_of(value: Any) -> Records | None:
    """The records of one JSON value."""
    if isinstance(value, dict) and value.keys() >= exercism.FILE_KEYS:
        return list(exercism.cases_in(value))
    records = value if isinstance(value, list) else [value]
    known = (exercism.KEYS, humaneval.KEYS, mbpp.KEYS)
    return records if records and any(keys <= _keys(records[0]) for keys in known) else None


def _keys(record: Any) -> set[str]:
    return set(record) if isinstance(record, dict) else set()


def _problems(path: Path, records: Records) -> list[FunctionProblem]:
    try:
        problems = list(_parse(records))
    except ValidationError as error:
        first = error.errors()[0]
        raise UsageError(f"{path}: {'.'.join(map(str, first['loc']))}: {first['msg']}") from error
    ids = set[str]()
    for problem in problems:
        if problem.id in ids:
            raise UsageError(f"{path}: the id {problem.id!r} occurs twice; ids must differ")
        ids.add(problem.id)
    return problems


def _parse(records: Records) -> Iterator[FunctionProblem]:
    if _keys(records[0]) >= exercism.KEYS:
        return exercism.problems(records)
    parse = humaneval.problem if _keys(records[0]) >= humaneval.KEYS else mbpp.problem
    return map(parse, records)
