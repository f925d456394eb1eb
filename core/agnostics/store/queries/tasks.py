"""How each task fared when a run was measured."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Connection, func, select

from agnostics.store.queries.attempts import Attempts
from agnostics.store.views import pass_rates


def attempts_at(connection: Connection, run: str, phases: Sequence[str]) -> dict[str, Attempts]:
    """The attempts of `run` at each task in `phases`, by the task's id; a failed sandbox is none."""
    rate = pass_rates.c
    query = select(rate.task, func.sum(rate.programs), func.sum(rate.accepted)).where(
        rate.run == run, rate.phase.in_(phases)
    )
    rows = connection.execute(query.group_by(rate.task).order_by(rate.task))
    return {task: Attempts(int(programs), int(accepted)) for task, programs, accepted in rows}
