"""The number of programs per task in a run, and of accepted ones among them: the counts of pass@k."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, func, select, text

from agnostics.store.views import pass_rates

_BY_TASK = text("""
select count(*) as programs, sum(case when v.verdict = 'accepted' then 1 else 0 end) as accepted, t.family
from verification v
join task t on t.id = v.task_id
where v.run_id = :run and v.verdict <> 'sandbox_error'
  and (v.phase = 'eval' or (v.phase = 'train' and v.step <= :steps))
group by v.task_id, t.family
order by v.task_id
""")


@dataclass(frozen=True, slots=True)
class SampleCounts:
    """The programs that were sampled for a task, and the accepted ones; those with a sandbox error are not counted."""

    programs: int
    accepted: int
    family: str | None = None
    """The family of the task."""


def sample_counts_by_task(connection: Connection, run: str, steps: int) -> list[SampleCounts]:
    """The counts of each task in an evaluation, or in the first `steps` training steps of `run`."""
    return [SampleCounts(*row) for row in connection.execute(_BY_TASK, {"run": run, "steps": steps})]


def sample_counts(connection: Connection, run: str, phases: Sequence[str]) -> dict[str, SampleCounts]:
    """The counts of each task in `phases` of `run`, by the task's id."""
    rate = pass_rates.c
    query = select(rate.task, func.sum(rate.programs), func.sum(rate.accepted), rate.family).where(
        rate.run == run, rate.phase.in_(phases)
    )
    rows = connection.execute(query.group_by(rate.task, rate.family).order_by(rate.task))
    return {task: SampleCounts(int(programs), int(accepted), family) for task, programs, accepted, family in rows}
