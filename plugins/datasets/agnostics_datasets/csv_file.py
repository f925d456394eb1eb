"""The `csv` adapter: one test per row of a table, as a spreadsheet writes it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import ClassVar

from agnostics import Comparison, Dataset, Task, Test, UsageError, unknown_name_error

from agnostics_datasets.files import file_rows
from agnostics_datasets.records import complaining

Cells = Mapping[str, str]
NEEDED = ("id", "input", "output")
COLUMNS = (*NEEDED, "statement", "split", "compare", "difficulty", "family", "tags")


class Csv(Dataset):
    """Tasks from a table with the columns `id`, `input`, `output`, and optionally `statement` and others.

    A row is a test, and consecutive rows with the same `id` are the tests of one task; the first of them has the
    fields of the task. `compare` is a mode, `tags` are separated by spaces, and a row without `split` is for training.
    """

    name: ClassVar[str] = "csv"
    description: ClassVar[str] = "Your own tasks, one test per row of a table."
    license: ClassVar[str] = "that of the file"
    suffixes: ClassVar[tuple[str, ...]] = (".csv",)
    splits: ClassVar[tuple[str, ...]] = ("train", "validation", "test")
    size: ClassVar[str] = "as many tests as the file has rows"
    fields: ClassVar[Mapping[str, str]] = {
        "id": "id; rows of one id that follow each other are one task",
        "input, output": "a test",
        "statement, difficulty, family": "as they are",
        "compare": "the mode of comparison",
        "tags": "tags, separated by spaces",
        "split": "the split",
    }

    def tasks(self, split: str, *, source: str | None = None, seed: int = 0) -> Iterator[Task]:
        """The tasks of `split`, in the order of the file; see `Dataset.tasks`. The held-out splits may be empty."""
        if source is None:
            raise UsageError("the data set 'csv' needs a file: name it, as in tasks.csv or csv:FILE")
        path = Path(source)
        if not path.is_file():
            raise UsageError(f"{path}: no such file")
        return _tasks(path, split)


def _tasks(path: Path, split: str) -> Iterator[Task]:
    splits, ids = set[str](), set[str]()
    rows = ((where, _checked(where, cells)) for where, cells in file_rows(str(path), "train", ("train",)))
    for name, group in groupby(rows, key=lambda row: row[1]["id"]):
        lines = list(group)
        (where, first), its_split = lines[0], lines[0][1].get("split") or "train"
        if name in ids:
            raise UsageError(f"{where}: the id {name!r} came before; rows of one id must follow each other")
        ids.add(name)
        splits.add(its_split)
        if its_split == split:
            with complaining(where):
                task = _task(first, [cells for _, cells in lines])
            yield task
    if not splits:
        raise UsageError(f"{path}: holds no tasks")
    if split not in {*splits, "validation", "test"}:
        raise unknown_name_error("split", split, splits)


def _checked(where: str, cells: Cells) -> Cells:
    if strange := [column for column in cells if column not in COLUMNS]:
        raise UsageError(f"{where}: {unknown_name_error('column', strange[0], COLUMNS)}")
    if missing := [column for column in NEEDED if column not in cells]:
        raise UsageError(f"{where}: the column {missing[0]!r} is missing")
    return cells


def _task(first: Cells, tests: Sequence[Cells]) -> Task:
    return Task(
        id=first["id"],
        statement=first.get("statement", ""),
        tests=tuple(Test(input=cells["input"], output=cells["output"]) for cells in tests),
        compare=Comparison.model_validate({"mode": first.get("compare") or "tokens"}),
        family=first.get("family") or None,
        tags=tuple(first.get("tags", "").split()),
        difficulty=first.get("difficulty") or None,
    )
