"""The distinct programs of each task, whatever their verdicts, with the inputs that they were run on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sqlalchemy import Connection, func, select

from agnostics.store import schema
from agnostics.store.filters import VerificationFilter
from agnostics.store.queries.accepted import task_of

_verification, _program = schema.verification.c, schema.program.c
_PORTION = 200


@dataclass(frozen=True, slots=True)
class DistinctProgram:
    """A program for a task; `completion_id` is the first of its completions."""

    completion_id: int
    task: str
    program: str
    inputs: tuple[str, ...]


def distinct_programs(connection: Connection, where: VerificationFilter) -> Iterator[DistinctProgram]:
    """Every distinct program that matches `where`, task by task; at most one task is held in memory."""
    first = func.min(_verification.completion_id).label("first")
    query = (
        select(_verification.task_id, _program.text, first)
        .join(schema.program, _program.id == _verification.program_id)
        .where(*where.conditions())
        .group_by(_verification.task_id, _program.id, _program.text)
        .order_by(_verification.task_id, first)
        .execution_options(yield_per=_PORTION)
    )
    task_id, task = None, None
    for row in connection.execute(query):
        if task is None or row.task_id != task_id:
            task_id, task = row.task_id, task_of(connection, row.task_id)
        yield DistinctProgram(row.first, task.id, row.text, tuple(test.input for test in task.tests))


def count_inputs(connection: Connection, where: VerificationFilter) -> int:
    """The number of inputs of all programs that match `where`, each on those of its task."""
    tests = func.max(_verification.tests_total).label("tests")
    distinct = (
        select(tests)
        .where(*where.conditions(), _verification.program_id.is_not(None))
        .group_by(_verification.task_id, _verification.program_id)
        .subquery()
    )
    return int(connection.execute(select(func.coalesce(func.sum(distinct.c.tests), 0))).scalar_one())


def languages_of(connection: Connection, where: VerificationFilter) -> list[str]:
    """The names of the languages of the programs that match `where`, in order."""
    runs = select(_verification.run_id).where(*where.conditions()).distinct()
    name = schema.language.c.name
    query = (
        select(name)
        .distinct()
        .join(schema.run, schema.run.c.language_id == schema.language.c.id)
        .where(schema.run.c.id.in_(runs))
        .order_by(name)
    )
    return [row.name for row in connection.execute(query)]
