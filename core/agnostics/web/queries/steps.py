"""Steps of a run: a page of them; the metrics, groups and slowest verifications of one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Select, select

from agnostics.store import schema

MOST_PROGRAMS = 2000
_metric, _verification, _task, _reward = schema.step_metric.c, schema.verification.c, schema.task.c, schema.reward.c


@dataclass(frozen=True, slots=True)
class GroupMember:
    """A completion in its group. `wall_ms` is the duration of its verification."""

    completion_id: int
    verdict: str
    reward: float | None
    wall_ms: float
    task: str


@dataclass(frozen=True, slots=True)
class GroupDetail:
    """The completions of one task in a step, in the order of their ids."""

    task_id: int
    task: str
    members: Sequence[GroupMember]

    @property
    def accepted(self) -> int:
        return sum(member.verdict == "accepted" for member in self.members)


def steps_page(connection: Connection, run: str, size: int, before: int | None = None) -> dict[int, dict[str, float]]:
    """The metrics by name of the last `size` training steps of `run` before step `before`, newest first."""
    steps = select(_metric.step).distinct().where(_metric.run_id == run, _metric.step > 0)
    if before is not None:
        steps = steps.where(_metric.step < before)
    page = connection.scalars(steps.order_by(_metric.step.desc()).limit(size)).all()
    if not page:
        return {}
    query = select(_metric.step, _metric.name, _metric.value).where(
        _metric.run_id == run, _metric.step.between(page[-1], page[0]), _metric.value.is_not(None)
    )
    metrics = defaultdict[int, dict[str, float]](dict)
    for step, name, value in connection.execute(query):
        metrics[step][name] = value
    return {step: metrics[step] for step in page}


def step_metrics(connection: Connection, run: str, step: int) -> dict[str, float | None]:
    """The metrics of a step by name; None if a value was not a finite number."""
    query = select(_metric.name, _metric.value).where(_metric.run_id == run, _metric.step == step)
    return {row.name: row.value for row in connection.execute(query.order_by(_metric.name))}


def groups_page(
    connection: Connection, run: str, phase: str, step: int, size: int, after: int | None = None
) -> list[GroupDetail]:
    """`size` groups of a step, by task; those of tasks with ids above `after`. 2,000 programs at most."""
    of_step = (_verification.run_id == run, _verification.phase == phase, _verification.step == step)
    tasks = select(_verification.task_id).distinct().where(*of_step)
    if after is not None:
        tasks = tasks.where(_verification.task_id > after)
    page = connection.scalars(tasks.order_by(_verification.task_id).limit(size)).all()
    if not page:
        return []
    query = (
        members()
        .where(*of_step, _verification.task_id.between(page[0], page[-1]))
        .order_by(_verification.task_id, _verification.completion_id)
        .limit(MOST_PROGRAMS)
    )
    groups = defaultdict[int, list[GroupMember]](list)
    for task_id, *row in connection.execute(query):
        groups[task_id].append(GroupMember(*row))
    return [GroupDetail(task_id, of_task[0].task, of_task) for task_id, of_task in groups.items()]


def slowest(connection: Connection, run: str, phase: str, step: int, size: int) -> list[GroupMember]:
    """The completions of a step with the longest verifications."""
    query = members().where(_verification.run_id == run, _verification.phase == phase, _verification.step == step)
    rows = connection.execute(query.order_by(_verification.wall_ms.desc(), _verification.completion_id).limit(size))
    return [GroupMember(*row[1:]) for row in rows]


def members() -> Select[Any]:
    """The query of task ids and the fields of `GroupMember`."""
    columns = (
        _verification.task_id,
        _verification.completion_id,
        _verification.verdict,
        _reward.value,
        _verification.wall_ms,
        _task.key,
    )
    return (
        select(*columns)
        .join(schema.task, _task.id == _verification.task_id)
        .outerjoin(schema.reward, _reward.completion_id == _verification.completion_id)
    )
