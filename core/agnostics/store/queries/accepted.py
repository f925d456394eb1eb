"""The accepted programs of a run, each once for a task, with all that there is to judge them by."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, func, select

from agnostics.store import schema
from agnostics.store.filters import Filter
from agnostics.types.task import Task

_done, _test = schema.verification.c, schema.test_result.c
_PORTION = 200


@dataclass(frozen=True, slots=True)
class AcceptedProgram:
    """A program that was accepted for a task, `times` over; `completion_id` is the first of them.

    `outputs` are what it wrote in each test, None where that was cut for storage.
    """

    completion_id: int
    times: int
    program_id: int
    program: str
    task: Task
    outputs: tuple[str | None, ...]


def accepted_programs(connection: Connection, wanted: Filter) -> Iterator[AcceptedProgram]:
    """Every accepted program among what `wanted` means, task by task; no more than one task is held."""
    first = func.min(_done.completion_id).label("first")
    query = (
        select(_done.task_id, _done.program_id, first, func.count().label("times"))
        .where(*wanted.conditions(), _done.verdict == "accepted", _done.program_id.is_not(None))
        .group_by(_done.task_id, _done.program_id)
        .order_by(_done.task_id, first)
        .execution_options(yield_per=_PORTION)
    )
    task_id, task = None, None
    for portion in connection.execute(query).partitions():
        texts = _texts(connection, [row.program_id for row in portion])
        outputs = _outputs(connection, [row.first for row in portion])
        for row in portion:
            if task is None or row.task_id != task_id:
                task_id, task = row.task_id, _task(connection, row.task_id)
            said = tuple(outputs[row.first])
            yield AcceptedProgram(row.first, row.times, row.program_id, texts[row.program_id], task, said)


def _texts(connection: Connection, ids: Sequence[int]) -> dict[int, str]:
    program = schema.program.c
    return {row.id: row.text for row in connection.execute(select(program.id, program.text).where(program.id.in_(ids)))}


def _outputs(connection: Connection, completions: Sequence[int]) -> dict[int, list[str | None]]:
    query = select(_test.completion_id, _test.stdout, _test.truncated).where(_test.completion_id.in_(completions))
    found = defaultdict[int, list[str | None]](list)
    for row in connection.execute(query.order_by(_test.completion_id, _test.number)):
        found[row.completion_id].append(None if row.truncated else row.stdout)
    return found


def _task(connection: Connection, task_id: int) -> Task:
    row = connection.execute(select(schema.task).where(schema.task.c.id == task_id)).one()
    return Task(id=row.key, kind=row.kind, difficulty=row.difficulty, statement=row.statement, **row.definition)
