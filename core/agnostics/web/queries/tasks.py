"""Tasks: those of a run with how often each was solved, one with its text, and the programs written for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from sqlalchemy import ColumnElement, Connection, Double, Integer, and_, cast, exists, func, or_, select
from sqlalchemy.sql.selectable import Subquery

from agnostics.store import schema
from agnostics.types.rollout import PHASES
from agnostics.web.queries.completions import Answer, answers

MOST_COUNTED = 20_000
Order = Literal["hardest", "easiest", "most"]
_done, _task = schema.verification.c, schema.task.c
_accepted = func.count().filter(_done.verdict == "accepted")


@dataclass(frozen=True, slots=True)
class TaskLine:
    """How often a task was solved: `accepted` of `programs` judged; a failed sandbox judges nothing."""

    task_id: int
    task: str
    kind: str | None
    programs: int
    accepted: int
    rate: float


@dataclass(frozen=True, slots=True)
class TaskText:
    """A task as it was used; `definition` holds its tests and the rest."""

    task_id: int
    task: str
    kind: str | None
    difficulty: str | None
    statement: str
    definition: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Tried:
    """What a run made of a task in a phase."""

    run: str
    phase: str
    programs: int
    accepted: int


def phases(connection: Connection, run: str) -> list[str]:
    """The phases of `run` that hold a program."""
    held = [exists().where(_done.run_id == run, _done.phase == phase) for phase in PHASES]
    (found,) = connection.execute(select(*held))
    return [phase for phase, there in zip(PHASES, found, strict=True) if there]


def tasks_page(
    connection: Connection, run: str, phase: str, order: Order, size: int, after: tuple[float, int] | None = None
) -> list[TaskLine]:
    """`size` tasks of `run` in `phase`, those after (value that orders, task's number)."""
    counted = _counted(run, phase)
    value = {"hardest": counted.c.rate, "easiest": counted.c.rate, "most": counted.c.programs}[order]
    query = select(counted, _task.key, _task.kind).join(schema.task, _task.id == counted.c.task_id).limit(size)
    query = query.order_by(value if order == "hardest" else value.desc(), counted.c.task_id)
    if after is not None:
        query = query.where(_beyond(value, counted.c.task_id, after, descending=order != "hardest"))
    return [
        TaskLine(row.task_id, row.key, row.kind, int(row.programs), int(row.accepted), row.rate)
        for row in connection.execute(query)
    ]


def _counted(run: str, phase: str) -> Subquery:
    """The tasks with their counts. By step first, which the index gives in order: then there is little to sort."""
    judged = (_done.run_id == run, _done.phase == phase, _done.verdict != "sandbox_error")
    columns = (_done.task_id, func.count().label("programs"), _accepted.label("accepted"))
    by_step = select(*columns).where(*judged).group_by(_done.step, _done.task_id).subquery()
    programs, accepted = func.sum(by_step.c.programs), func.sum(by_step.c.accepted)
    return (
        select(
            by_step.c.task_id,
            cast(programs, Integer).label("programs"),
            cast(accepted, Integer).label("accepted"),
            (cast(accepted, Double) / cast(programs, Double)).label("rate"),
        )
        .group_by(by_step.c.task_id)
        .subquery()
    )


def _beyond(
    value: ColumnElement[Any], number: ColumnElement[int], after: tuple[float, int], *, descending: bool
) -> ColumnElement[bool]:
    last, last_number = after
    further = value < last if descending else value > last
    return or_(further, and_(value == last, number > last_number))


def task_text(connection: Connection, task_id: int) -> TaskText | None:
    """The task with the number `task_id`."""
    columns = (_task.id, _task.key, _task.kind, _task.difficulty, _task.statement, _task.definition)
    row = connection.execute(select(*columns).where(_task.id == task_id)).one_or_none()
    return None if row is None else TaskText(*row)


def tried(connection: Connection, task_id: int) -> list[Tried]:
    """Which runs tried a task, newest first, from its last 20,000 programs."""
    last = (
        select(_done.run_id, _done.phase, _done.verdict)
        .where(_done.task_id == task_id)
        .order_by(_done.completion_id.desc())
        .limit(MOST_COUNTED)
        .subquery()
    )
    accepted = func.count().filter(last.c.verdict == "accepted")
    query = select(last.c.run_id, last.c.phase, func.count(), accepted).group_by(last.c.run_id, last.c.phase)
    return [Tried(*row) for row in connection.execute(query.order_by(last.c.run_id.desc(), last.c.phase))]


def answers_page(
    connection: Connection,
    task_id: int,
    size: int,
    *,
    run: str = "",
    phase: str = "",
    verdict: str = "",
    before: int | None = None,
) -> list[Answer]:
    """The newest `size` answers to a task, those numbered below `before`; an empty text filters nothing."""
    wanted = {_done.run_id: run, _done.phase: phase, _done.verdict: verdict}
    conditions = [column == value for column, value in wanted.items() if value]
    if before is not None:
        conditions.append(_done.completion_id < before)
    return answers(connection, _done.task_id == task_id, *conditions, size=size)
