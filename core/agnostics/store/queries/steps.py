"""Time series over the steps of a run: metrics, verdicts, and pass rates on held-out tasks."""

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


def metrics_by_step(connection: Connection, run: str) -> dict[int, dict[str, float]]:
    """The metrics of each step of `run` by name, in order; without those whose value was not a finite number."""
    metric = schema.step_metric.c
    query = select(metric.step, metric.name, metric.value).where(metric.run_id == run, metric.value.is_not(None))
    metrics = defaultdict[int, dict[str, float]](dict)
    for step, name, value in connection.execute(query.order_by(metric.step, metric.name)):
        metrics[step][name] = value
    return dict(metrics)


def losses_by_step(connection: Connection, run: str) -> list[tuple[int, float]]:
    """The loss of each training step of `run` that had one, in order of the steps."""
    metric = schema.step_metric.c
    query = select(metric.step, metric.value).where(metric.run_id == run, metric.name == "loss")
    rows = connection.execute(query.where(metric.value.is_not(None)).order_by(metric.step))
    return [(step, value) for step, value in rows]


def verdicts_by_step(connection: Connection, run: str) -> dict[int, dict[str, int]]:
    """The number of programs by verdict in each training step of `run`, in order of the steps."""
    counts = defaultdict[int, dict[str, int]](dict)
    for step, verdict, programs in connection.execute(_VERDICTS, {"run": run}):
        counts[step][verdict] = programs
    return dict(counts)


def held_out_by_step(connection: Connection, run: str) -> dict[int, list[float]]:
    """The pass rate of each held-out task, by the number of training steps before the evaluation.

    Sandbox errors are not counted; a task with no other verdict is left out.
    """
    rates = defaultdict[int, list[float]](list)
    for step, _, rate in connection.execute(_HELD_OUT, {"run": run}):
        rates[step].append(float(rate))
    return dict(rates)
