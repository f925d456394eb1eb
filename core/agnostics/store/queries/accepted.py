"""The distinct accepted programs of each task, with the task and the programs' outputs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, func, select

from agnostics.store import schema
from agnostics.store.filters import VerificationFilter
from agnostics.types.task import Task

_verification, _test = schema.verification.c, schema.test_result.c
_PORTION = 200


@dataclass(frozen=True, slots=True)
class AcceptedProgram:
    """A program that was accepted for a task in `times` completions; `completion_id` is the first of them.

    `outputs` are its outputs in each test, None for an output that was cut for storage.
    """

    completion_id: int
    times: int
    program_id: int
    program: str
    task: Task
    outputs: tuple[str | None, ...]


def accepted_programs(connection: Connection, where: VerificationFilter) -> Iterator[AcceptedProgram]:
    """Every distinct accepted program that matches `where`, task by task; at most one task is held in memory."""
    first = func.min(_verification.completion_id).label("first")
    query = (
        select(_verification.task_id, _verification.program_id, first, func.count().label("times"))
        .where(*where.conditions(), _verification.verdict == "accepted", _verification.program_id.is_not(None))
        .group_by(_verification.task_id, _verification.program_id)
        .order_by(_verification.task_id, first)
        .execution_options(yield_per=_PORTION)
    )
    task_id, task = None, None
    for portion in connection.execute(query).partitions():
        texts = _texts(connection, [row.program_id for row in portion])
        outputs = _outputs(connection, [row.first for row in portion])
        for row in portion:
            if task is None or row.task_id != task_id:
                task_id, task = row.task_id, task_of(connection, row.task_id)
            program = texts[row.program_id]
            yield AcceptedProgram(row.first, row.times, row.program_id, program, task, tuple(outputs[row.first]))


def _texts(connection: Connection, ids: Sequence[int]) -> dict[int, str]:
    program = schema.program.c
    return {row.id: row.text for row in connection.execute(select(program.id, program.text).where(program.id.in_(ids)))}


def _outputs(connection: Connection, completions: Sequence[int]) -> dict[int, list[str | None]]:
    query = select(_test.completion_id, _test.stdout, _test.truncated).where(_test.completion_id.in_(completions))
    outputs = defaultdict[int, list[str | None]](list)
    for row in connection.execute(query.order_by(_test.completion_id, _test.number)):
        outputs[row.completion_id].append(None if row.truncated else row.stdout)
    return outputs


def task_of(connection: Connection, task_id: int) -> Task:
    """The task whose row has this id."""
    row = connection.execute(select(schema.task).where(schema.task.c.id == task_id)).one()
    return Task(id=row.key, family=row.family, difficulty=row.difficulty, statement=row.statement, **row.definition)
