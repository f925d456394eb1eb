"""Steps of a run: a page of them, the figures of one, its groups and its slowest verifications."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Select, select

from agnostics.store import schema

MOST_PROGRAMS = 2000
_metric, _done, _task, _reward = schema.step_metric.c, schema.verification.c, schema.task.c, schema.reward.c


@dataclass(frozen=True, slots=True)
class Member:
    """A completion in its group. `wall_ms` is how long its verification took."""

    completion_id: int
    verdict: str
    reward: float | None
    wall_ms: float
    task: str


@dataclass(frozen=True, slots=True)
class Group:
    """The completions of one task in a step, in the order in which they came."""

    task_id: int
    task: str
    members: Sequence[Member]

    @property
    def accepted(self) -> int:
        return sum(member.verdict == "accepted" for member in self.members)


def steps_page(connection: Connection, run: str, size: int, before: int | None = None) -> dict[int, dict[str, float]]:
    """The figures by name of the last `size` training steps of `run`, newest first; those before step `before`."""
    steps = select(_metric.step).distinct().where(_metric.run_id == run, _metric.step > 0)
    if before is not None:
        steps = steps.where(_metric.step < before)
    wanted = connection.scalars(steps.order_by(_metric.step.desc()).limit(size)).all()
    if not wanted:
        return {}
    query = select(_metric.step, _metric.name, _metric.value).where(
        _metric.run_id == run, _metric.step.between(wanted[-1], wanted[0]), _metric.value.is_not(None)
    )
    found = defaultdict[int, dict[str, float]](dict)
    for step, name, value in connection.execute(query):
        found[step][name] = value
    return {step: found[step] for step in wanted}


def step_figures(connection: Connection, run: str, step: int) -> dict[str, float | None]:
    """The figures of a step by name; None for one that was not a number."""
    query = select(_metric.name, _metric.value).where(_metric.run_id == run, _metric.step == step)
    return {row.name: row.value for row in connection.execute(query.order_by(_metric.name))}


def groups_page(
    connection: Connection, run: str, phase: str, step: int, size: int, after: int | None = None
) -> list[Group]:
    """`size` groups of a step, by task; those of tasks numbered above `after`. 2,000 programs at most."""
    of_step = (_done.run_id == run, _done.phase == phase, _done.step == step)
    tasks = select(_done.task_id).distinct().where(*of_step)
    if after is not None:
        tasks = tasks.where(_done.task_id > after)
    wanted = connection.scalars(tasks.order_by(_done.task_id).limit(size)).all()
    if not wanted:
        return []
    query = (
        members()
        .where(*of_step, _done.task_id.between(wanted[0], wanted[-1]))
        .order_by(_done.task_id, _done.completion_id)
        .limit(MOST_PROGRAMS)
    )
    found = defaultdict[int, list[Member]](list)
    for task_id, *row in connection.execute(query):
        found[task_id].append(Member(*row))
    return [Group(task_id, some[0].task, some) for task_id, some in found.items()]


def slowest(connection: Connection, run: str, phase: str, step: int, size: int) -> list[Member]:
    """The completions of a step whose verifications took longest."""
    query = members().where(_done.run_id == run, _done.phase == phase, _done.step == step)
    rows = connection.execute(query.order_by(_done.wall_ms.desc(), _done.completion_id).limit(size))
    return [Member(*row[1:]) for row in rows]


def members() -> Select[Any]:
    """Completions with what a `Member` holds, after the numbers of their tasks."""
    columns = (_done.task_id, _done.completion_id, _done.verdict, _reward.value, _done.wall_ms, _task.key)
    return (
        select(*columns)
        .join(schema.task, _task.id == _done.task_id)
        .outerjoin(schema.reward, _reward.completion_id == _done.completion_id)
    )
