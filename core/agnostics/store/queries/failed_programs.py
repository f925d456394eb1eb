"""The failed programs of a run, with the messages of their compilers and runs."""

from __future__ import annotations

from typing import Any

from sqlalchemy import JSON, Connection, Row, TextClause, text

from agnostics.store.compressed import CompressedText
from agnostics.store.verdicts import verdict_code_sql
from agnostics.types.failed_program import FAILED_VERDICTS, FailedProgram, run_message
from agnostics.types.verification import Difference, Verdict

MOST_DISTINCT = 2000

_FAILED = ", ".join(f"'{verdict}'" for verdict in FAILED_VERDICTS)
_COLUMNS = "p.text, v.verdict, v.compile_message, t.stderr, t.exit_code, t.signal, t.difference"
_CODE = verdict_code_sql("v.verdict")
_FIRST_FAILED_TEST = f"""
left join test_result t on t.completion_id = v.completion_id and t.number = (
    select min(number) from test_result where completion_id = v.completion_id and verdict = {_CODE})
"""
_ALL = f"""
select {_COLUMNS}
from verification v
join program p on p.id = v.program_id
{_FIRST_FAILED_TEST}
where v.run_id = :run and v.verdict in ({_FAILED})
  and (v.phase = :phase or :phase is null and v.phase <> 'eval_generated_tests')
order by v.completion_id
"""
_DISTINCT = f"""
select {_COLUMNS}
from (select program_id, max(completion_id) as id from verification
      where run_id = :run and phase in ('train', 'eval') and program_id is not null and verdict in ({_FAILED})
      group by program_id order by id desc limit {MOST_DISTINCT}) last
join verification v on v.completion_id = last.id
join program p on p.id = v.program_id
{_FIRST_FAILED_TEST}
order by last.id desc
"""


def failed_programs(connection: Connection, run: str, phase: str | None = None) -> list[FailedProgram]:
    """Every failed program of `run`, repeated ones too, in one phase or in all, in the order of the completions."""
    return [_failed_program(row) for row in connection.execute(_query(_ALL), {"run": run, "phase": phase})]


def distinct_failed_programs(connection: Connection, run: str) -> list[FailedProgram]:
    """The last 2,000 distinct failed programs of `run`, newest first.

    A training run's evaluations are left out: advice that is derived from these programs must not see held-out tasks.
    """
    return [_failed_program(row) for row in connection.execute(_query(_DISTINCT), {"run": run})]


def _query(sql: str) -> Any:
    statement: TextClause = text(sql)
    return statement.columns(compile_message=CompressedText(), stderr=CompressedText(), difference=JSON())


def _failed_program(row: Row[Any]) -> FailedProgram:
    verdict = Verdict(row.verdict)
    if verdict is Verdict.COMPILE_ERROR:
        return FailedProgram(row.text, verdict, row.compile_message or "")
    difference = Difference(**row.difference) if row.difference else None
    return FailedProgram(row.text, verdict, run_message(row.stderr or "", row.exit_code, row.signal), difference)
