"""Tasks: those of a run with their pass rates, one with its text, and the completions of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from sqlalchemy import ColumnElement, Connection, Double, Integer, and_, cast, exists, func, or_, select
from sqlalchemy.sql.selectable import Subquery

from agnostics.store import schema
from agnostics.store.filters import has_failed_tools
from agnostics.types.rollout import PHASES
from agnostics.web.queries.completions import CompletionSummary, completion_summaries

MOST_COUNTED = 20_000
Order = Literal["hardest", "easiest", "most"]
_verification, _task = schema.verification.c, schema.task.c
_accepted = func.count().filter(_verification.verdict == "accepted")


@dataclass(frozen=True, slots=True)
class TaskSummary:
    """A task with its pass rate: `accepted` of `programs`; sandbox errors are not counted."""

    task_id: int
    task: str
    family: str | None
    programs: int
    accepted: int
    rate: float


@dataclass(frozen=True, slots=True)
class TaskDetail:
    """A task as a run used it; `definition` contains its tests and its other fields."""

    task_id: int
    task: str
    family: str | None
    difficulty: str | None
    statement: str
    definition: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class TaskRun:
    """The pass count of a task in a phase of a run."""

    run: str
    phase: str
    programs: int
    accepted: int


def phases(connection: Connection, run: str) -> list[str]:
    """The phases in which `run` has completions."""
    present = [exists().where(_verification.run_id == run, _verification.phase == phase) for phase in PHASES]
    (flags,) = connection.execute(select(*present))
    return [phase for phase, flag in zip(PHASES, flags, strict=True) if flag]


def tasks_page(
    connection: Connection, run: str, phase: str, order: Order, size: int, after: tuple[float, int] | None = None
) -> list[TaskSummary]:
    """`size` tasks of `run` in `phase`, those after the key (value of the order, id of the task)."""
    counted = _counted(run, phase)
    value = {"hardest": counted.c.rate, "easiest": counted.c.rate, "most": counted.c.programs}[order]
    query = select(counted, _task.key, _task.family).join(schema.task, _task.id == counted.c.task_id).limit(size)
    query = query.order_by(value if order == "hardest" else value.desc(), counted.c.task_id)
    if after is not None:
        query = query.where(_after(value, counted.c.task_id, after, descending=order != "hardest"))
    return [
        TaskSummary(row.task_id, row.key, row.family, int(row.programs), int(row.accepted), row.rate)
        for row in connection.execute(query)
    ]


def _counted(run: str, phase: str) -> Subquery:
    """The tasks with their counts; grouped by step first, in the order of the index, so that little is sorted."""
    conditions = (_verification.run_id == run, _verification.phase == phase, _verification.verdict != "sandbox_error")
    columns = (_verification.task_id, func.count().label("programs"), _accepted.label("accepted"))
    by_step = select(*columns).where(*conditions).group_by(_verification.step, _verification.task_id).subquery()
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


def _after(
    value: ColumnElement[Any], id_: ColumnElement[int], key: tuple[float, int], *, descending: bool
) -> ColumnElement[bool]:
    last, last_id = key
    later = value < last if descending else value > last
    return or_(later, and_(value == last, id_ > last_id))


def task_detail(connection: Connection, task_id: int) -> TaskDetail | None:
    """The task with the id `task_id`, None if there is none."""
    columns = (_task.id, _task.key, _task.family, _task.difficulty, _task.statement, _task.definition)
    row = connection.execute(select(*columns).where(_task.id == task_id)).one_or_none()
    return None if row is None else TaskDetail(*row)


def task_runs(connection: Connection, task_id: int) -> list[TaskRun]:
    """The pass counts of a task by run and phase, newest run first, over its last 20,000 programs."""
    last = (
        select(_verification.run_id, _verification.phase, _verification.verdict)
        .where(_verification.task_id == task_id)
        .order_by(_verification.completion_id.desc())
        .limit(MOST_COUNTED)
        .subquery()
    )
    accepted = func.count().filter(last.c.verdict == "accepted")
    query = select(last.c.run_id, last.c.phase, func.count(), accepted).group_by(last.c.run_id, last.c.phase)
    return [TaskRun(*row) for row in connection.execute(query.order_by(last.c.run_id.desc(), last.c.phase))]


def completions_page(
    connection: Connection,
    task_id: int,
    size: int,
    *,
    run: str = "",
    phase: str = "",
    verdict: str = "",
    tools: str = "",
    before: int | None = None,
) -> list[CompletionSummary]:
    """The newest `size` completions of a task with ids below `before`; an empty text filters nothing.

    With `tools`, those with a failed tool call.
    """
    filters = {_verification.run_id: run, _verification.phase: phase, _verification.verdict: verdict}
    conditions = [column == value for column, value in filters.items() if value]
    if tools:
        conditions.append(has_failed_tools())
    if before is not None:
        conditions.append(_verification.completion_id < before)
    return completion_summaries(connection, _verification.task_id == task_id, *conditions, size=size)
