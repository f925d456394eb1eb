"""What changes from step to step of a run: its figures, its verdicts, and what it solved of held-out tasks."""

from __future__ import annotations

from collections import defaultdict

from sqlalchemy import Connection, select, text

from agnostics.store import schema

_VERDICTS = text("""
select step, verdict, count(*) from verification
where run_id = :run and phase = 'train'
group by step, verdict
order by step, verdict
""")
_HELD_OUT = text("""
select step, task_id, avg(case when verdict = 'accepted' then 1.0 else 0.0 end) from verification
where run_id = :run and phase in ('eval_before', 'eval_during', 'eval_after') and verdict <> 'sandbox_error'
group by phase, step, task_id
order by step, min(completion_id)
""")


def figures_by_step(connection: Connection, run: str) -> dict[int, dict[str, float]]:
    """The figures of each step of `run` by name, in order; without those that were not a number."""
    metric = schema.step_metric.c
    query = select(metric.step, metric.name, metric.value).where(metric.run_id == run, metric.value.is_not(None))
    found = defaultdict[int, dict[str, float]](dict)
    for step, name, value in connection.execute(query.order_by(metric.step, metric.name)):
        found[step][name] = value
    return dict(found)


def verdicts_by_step(connection: Connection, run: str) -> dict[int, dict[str, int]]:
    """How many programs of each training step of `run` got each verdict, in order of the steps."""
    found = defaultdict[int, dict[str, int]](dict)
    for step, verdict, programs in connection.execute(_VERDICTS, {"run": run}):
        found[step][verdict] = programs
    return dict(found)


def held_out_by_step(connection: Connection, run: str) -> dict[int, list[float]]:
    """The share of programs accepted for each held-out task, by the training steps taken before they were tried.

    A failed sandbox says nothing, and a task of which nothing is known is left out.
    """
    found = defaultdict[int, list[float]](list)
    for step, _, rate in connection.execute(_HELD_OUT, {"run": run}):
        found[step].append(float(rate))
    return dict(found)
