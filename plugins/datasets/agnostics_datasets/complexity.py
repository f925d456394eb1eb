"""The `complexity` adapter: programs whose complexity is asked for, and problems to solve within a complexity."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import ClassVar, Literal

from agnostics import Task, Test

from agnostics_datasets.files import Row
from agnostics_datasets.records import Fields, Records, complaining

_WITHIN = "{statement}\n\nThe {quantity} complexity of the program must be at most {klass}, where n is {size}."
_QUANTITIES: tuple[Literal["time", "space"], ...] = ("time", "space")


class ComplexityRecord(Fields):
    """The fields of a line: with `program` a program to judge, else a problem to solve."""

    id: str
    problem: str | None = None
    statement: str = ""
    size: str = "the number that it reads"
    time: str | None = None
    space: str | None = None
    program: str | None = None
    language: str | None = None
    tests: tuple[Test, ...] = ()
    generator: str | None = None
    largest: int | None = None


class Complexity(Records[ComplexityRecord]):
    """A task for each of `time` and `space` that a record has; the tasks of one `problem` are a family.

    Records with a `program` are for the environment `complexity-prediction`, those with `tests` for
    `complexity-generation`. `generator` is a Python program that reads n and prints an input of that size; without one
    the input is n. A file whose name does not begin with a split is for tests.
    """

    name: ClassVar[str] = "complexity"
    description: ClassVar[str] = "Your own programs with their complexity, or problems to solve within a complexity."
    license: ClassVar[str] = "that of the file"
    splits: ClassVar[tuple[str, ...]] = ("test", "validation", "train")
    size: ClassVar[str] = "a task for each complexity of a record"
    fields: ClassVar[Mapping[str, str]] = {
        "id": "id, with `/time` or `/space` after it",
        "problem": "family, else the id",
        "statement": "statement; of a problem, with the complexity that is wanted",
        "size": "what n is, in words",
        "time, space": "the gold class of a program, or the class within which a problem is to be solved, as in `O(n)`",
        "program, language": "the program that is asked about",
        "tests": "the tests of a problem",
        "generator, largest": "the inputs of a problem at growing sizes: a Python program, and the largest n",
    }
    record = ComplexityRecord

    def _tasks(self, rows: Iterator[Row], split: str, seed: int) -> Iterator[Task]:
        for where, row in rows:
            with complaining(where):
                tasks = list(_tasks_of(self.record.model_validate(row)))
            yield from tasks

    def task(self, record: ComplexityRecord, number: int, split: str, seed: int) -> Task | None:
        """The first task of a record; see `Records.task`."""
        return next(_tasks_of(record), None)


def _tasks_of(record: ComplexityRecord) -> Iterator[Task]:
    if record.time is None and record.space is None:
        raise ValueError("time or space: a complexity is missing, as in O(n)")
    if (record.program is None) == (not record.tests):
        raise ValueError("a record has either a program, to judge, or tests, for a program to be written")
    for quantity in _QUANTITIES:
        klass: str | None = getattr(record, quantity)
        if klass is not None:
            yield _task(record, quantity, klass)


def _task(record: ComplexityRecord, quantity: str, klass: str) -> Task:
    statement, tests = record.statement, record.tests
    metadata: dict[str, object] = {"quantity": quantity}
    if record.program is not None:
        tests = (Test(input="", output=klass),)
        metadata |= {"program": record.program, "language": record.language, "size": record.size}
    else:
        statement = _WITHIN.format(statement=statement.strip(), quantity=quantity, klass=klass, size=record.size)
        metadata |= {"within": klass, "generator": record.generator, "largest": record.largest}
    return Task(
        id=f"{record.id}/{quantity}",
        statement=statement,
        tests=tests,
        family=record.problem or record.id,
        tags=(quantity, klass),
        metadata=metadata,
    )
