"""Every program of a run that counts, rather than every different one: how often tasks were solved, and what failed."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import JSON, Connection, text

from agnostics.store.compressed import CompressedText
from agnostics.store.queries.runs import fault_of
from agnostics.store.verdicts import number_of
from agnostics.types.failed_program import FAILED_VERDICTS, FailedProgram

_BY_TASK = text("""
select count(*) as programs, sum(case when v.verdict = 'accepted' then 1 else 0 end) as accepted
from verification v
where v.run_id = :run and v.verdict <> 'sandbox_error'
  and (v.phase = 'eval' or (v.phase = 'train' and v.step <= :steps))
group by v.task_id
order by v.task_id
""")
_FAILED = text(
    """
select p.text, v.verdict, v.compile_message, t.stderr, t.exit_code, t.signal, t.difference
from verification v
join program p on p.id = v.program_id
left join test_result t on t.completion_id = v.completion_id and t.number = (
    select min(number) from test_result where completion_id = v.completion_id and verdict = {number})
where v.run_id = :run and (v.phase = :phase or :phase is null and v.phase <> 'eval_written') and v.verdict in ({faulty})
order by v.completion_id
""".format(faulty=", ".join(f"'{verdict}'" for verdict in FAILED_VERDICTS), number=number_of("v.verdict"))
).columns(compile_message=CompressedText(), stderr=CompressedText(), difference=JSON())


@dataclass(frozen=True, slots=True)
class Attempts:
    """How many programs were written for a task, and how many of them were accepted."""

    programs: int
    accepted: int


def attempts_by_task(connection: Connection, run: str, steps: int) -> list[Attempts]:
    """What an evaluation, or the first `steps` training steps of `run`, attempted; a failed sandbox is no attempt."""
    return [Attempts(*row) for row in connection.execute(_BY_TASK, {"run": run, "steps": steps})]


def failed_programs(connection: Connection, run: str, phase: str | None = None) -> list[FailedProgram]:
    """Every faulty program of `run`, in `phase` or in all, in the order in which they were written."""
    return [fault_of(row) for row in connection.execute(_FAILED, {"run": run, "phase": phase})]
