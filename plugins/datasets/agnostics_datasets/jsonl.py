"""The `jsonl` adapter: one task per line of a file, as a JSON object."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar

from agnostics import Dataset, Task, UsageError, unknown_name_error
from pydantic import ValidationError

KEYS = ("split", *Task.model_fields)


class JsonLines(Dataset):
    """Tasks from `{"id", "statement", "tests": [{"input", "output"}]}` lines; the other fields of `Task` are optional.

    `split` is the split of a line, "train" by default. Blank lines are skipped.
    """

    name: ClassVar[str] = "jsonl"
    description: ClassVar[str] = "Your own tasks, one JSON object per line."
    license: ClassVar[str] = "that of the file"
    suffixes: ClassVar[tuple[str, ...]] = (".jsonl",)
    splits: ClassVar[tuple[str, ...]] = ("train", "validation", "test")
    size: ClassVar[str] = "as many tasks as the file has lines"
    fields: ClassVar[Mapping[str, str]] = {
        "split": "the split",
        **{name: f"`{name}` of the task, as it is" for name in Task.model_fields},
    }

    def tasks(self, split: str, *, source: str | None = None, seed: int = 0) -> Iterator[Task]:
        """The tasks of `split`, in the order of the file; see `Dataset.tasks`. The held-out splits may be empty."""
        if source is None:
            raise UsageError("the data set 'jsonl' needs a file: name it, as in tasks.jsonl or jsonl:FILE")
        path = Path(source)
        if not path.is_file():
            raise UsageError(f"{path}: no such file")
        return _tasks(path, split)


def _tasks(path: Path, split: str) -> Iterator[Task]:
    splits, ids = set[str](), dict[str, int]()
    for number, line in _lines(path):
        where = f"{path}:{number}"
        its_split, task = _parse(line, where)
        if ids.setdefault(task.id, number) != number:
            raise UsageError(f"{where}: the id {task.id!r} is that of line {ids[task.id]}; ids must differ")
        splits.add(its_split)
        if its_split == split:
            yield task
    if not splits:
        raise UsageError(f"{path}: holds no tasks")
    if split not in {*splits, "validation", "test"}:
        raise unknown_name_error("split", split, splits)


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """The non-blank lines, with their numbers from 1."""
    try:
        with path.open("rb") as file:
            yield from ((number, line) for number, line in enumerate(file, start=1) if line.strip())
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from error


def _parse(line: bytes, where: str) -> tuple[str, Task]:
    try:
        record = json.loads(line.decode())
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{where}: not a line of JSON: {error}") from error
    if not isinstance(record, dict):
        raise UsageError(f"{where}: expected a JSON object")
    if strange := [key for key in record if key not in KEYS]:
        raise UsageError(f"{where}: {unknown_name_error('key', strange[0], KEYS)}")
    split = record.pop("split", "train")
    if not isinstance(split, str):
        raise UsageError(f"{where}: split: expected a string")
    return split, _task(record, where)


def _task(record: dict[str, Any], where: str) -> Task:
    try:
        return Task.model_validate(record)
    except ValidationError as error:
        first = error.errors()[0]
        raise UsageError(f"{where}: {'.'.join(map(str, first['loc']))}: {first['msg']}") from error
