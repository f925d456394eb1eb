"""Time series over the steps of a run: metrics, verdicts, and pass rates on held-out tasks."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from sqlalchemy import Connection, select, text

from agnostics.store import schema

_VERDICTS = text("""
select step, verdict, count(*) from verification
where run_id = :run and phase = 'train'
group by step, verdict
order by step, verdict
""")
_HELD_OUT = text("""
select v.phase, v.step, t.family, avg(case when v.verdict = 'accepted' then 1.0 else 0.0 end) from verification v
join task t on t.id = v.task_id
where v.run_id = :run and v.phase in ('eval_before', 'eval_during', 'eval_after') and v.verdict <> 'sandbox_error'
group by v.phase, v.step, v.task_id, t.family
order by v.step, min(v.completion_id)
""")


@dataclass(frozen=True, slots=True)
class HeldOutRates:
    """The pass rate of each held-out task in one evaluation, and its family."""

    rates: list[float]
    families: list[str | None]


def metrics_by_step(connection: Connection, run: str) -> dict[int, dict[str, float]]:
    """The metrics of each step of `run` by name, in order; without those whose value was not a finite number."""
    metric = schema.step_metric.c
    query = select(metric.step, metric.name, metric.value).where(metric.run_id == run, metric.value.is_not(None))
    metrics = defaultdict[int, dict[str, float]](dict)
    for step, name, value in connection.execute(query.order_by(metric.step, metric.name)):
        metrics[step][name] = value
    return dict(metrics)


def metric_by_step(connection: Connection, run: str, name: str) -> list[tuple[int, float]]:
    """The metric `name` of each step of `run` that has it, in order of the steps."""
    metric = schema.step_metric.c
    query = select(metric.step, metric.value).where(metric.run_id == run, metric.name == name)
    rows = connection.execute(query.where(metric.value.is_not(None)).order_by(metric.step))
    return [(step, value) for step, value in rows]


def verdicts_by_step(connection: Connection, run: str) -> dict[int, dict[str, int]]:
    """The number of programs by verdict in each training step of `run`, in order of the steps."""
    counts = defaultdict[int, dict[str, int]](dict)
    for step, verdict, programs in connection.execute(_VERDICTS, {"run": run}):
        counts[step][verdict] = programs
    return dict(counts)


def held_out_by_step(connection: Connection, run: str) -> dict[int, HeldOutRates]:
    """The pass rates of held-out tasks, by the number of training steps before the evaluation.

    They are of one split: of validation tasks if the run was evaluated during training, else of the tasks that it was
    evaluated on before and after. Sandbox errors are not counted; a task with no other verdict is left out.
    """
    rows = connection.execute(_HELD_OUT, {"run": run}).all()
    is_validated = any(phase == "eval_during" for phase, *_ in rows)
    found: dict[int, HeldOutRates] = {}
    for phase, step, family, rate in rows:
        if (phase == "eval_during") == is_validated:
            of_step = found.setdefault(step, HeldOutRates([], []))
            of_step.rates.append(float(rate))
            of_step.families.append(family)
    return found
