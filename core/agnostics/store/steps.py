"""What changes from step to step of a run: its figures."""

from __future__ import annotations

from collections import defaultdict

from sqlalchemy import Connection, select

from agnostics.store import schema


def figures_by_step(connection: Connection, run: str) -> dict[int, dict[str, float]]:
    """The figures of each step of `run` by name, in order; without those that were not a number."""
    metric = schema.step_metric.c
    query = select(metric.step, metric.name, metric.value).where(metric.run_id == run, metric.value.is_not(None))
    found = defaultdict[int, dict[str, float]](dict)
    for step, name, value in connection.execute(query.order_by(metric.step, metric.name)):
        found[step][name] = value
    return dict(found)
