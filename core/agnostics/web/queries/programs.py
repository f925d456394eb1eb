"""One completion: its program, what became of it test by test, its group, and where its program was written again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, func, select

from agnostics.store import schema
from agnostics.store.views import TestRow, test_results
from agnostics.web.queries.steps import Member, members

MOST_COPIES = 1000
MOST_MEMBERS = 256
_done, _made, _task = schema.verification.c, schema.completion.c, schema.task.c
_reward, _program = schema.reward.c, schema.program.c


@dataclass(frozen=True, slots=True)
class Judged:
    """A completion with everything that is known of it but its tests. `program` is None where there was none."""

    completion_id: int
    run: str
    language: str
    model: str
    phase: str
    step: int
    task_id: int
    task: str
    statement: str
    definition: Mapping[str, Any]
    sample: int
    answer: str
    tokens: int
    finish_reason: str
    policy_version: int
    program_id: int | None
    program: str | None
    verdict: str
    tests_passed: int
    tests_total: int
    wall_ms: float
    sandbox: str
    attempts: int
    error: str | None
    compile_wall_ms: float | None
    compile_exit_code: int | None
    compile_signal: int | None
    compile_message: str | None
    reward: float | None
    advantage: float | None


def judged(connection: Connection, completion_id: int) -> Judged | None:
    """The completion with the number `completion_id`."""
    query = (
        select(
            _done.completion_id, _done.run_id.label("run"), schema.language.c.name.label("language"), schema.run.c.model
        )
        .add_columns(_done.phase, _done.step, _done.task_id, _task.key.label("task"), _task.statement, _task.definition)
        .add_columns(_made.sample, _made.before, _made.after, _made.tokens, _made.finish_reason, _made.policy_version)
        .add_columns(_done.program_id, _program.text.label("program"), _done.verdict, _done.tests_passed)
        .add_columns(_done.tests_total, _done.wall_ms, _done.sandbox, _done.attempts, _done.error)
        .add_columns(_done.compile_wall_ms, _done.compile_exit_code, _done.compile_signal, _done.compile_message)
        .add_columns(_reward.value.label("reward"), _reward.advantage)
        .join(schema.completion, _made.id == _done.completion_id)
        .join(schema.task, _task.id == _done.task_id)
        .join(schema.run, schema.run.c.id == _done.run_id)
        .join(schema.language, schema.language.c.id == schema.run.c.language_id)
        .outerjoin(schema.program, _program.id == _done.program_id)
        .outerjoin(schema.reward, _reward.completion_id == _done.completion_id)
        .where(_done.completion_id == completion_id)
    )
    row = connection.execute(query).mappings().one_or_none()
    if row is None:
        return None
    found = dict(row)
    before, after = found.pop("before"), found.pop("after")
    return Judged(**found, answer=before if after is None else f"{before}{found['program']}{after}")


def results_page(connection: Connection, completion_id: int, size: int, first: int = 1) -> list[TestRow]:
    """`size` test results of a completion, from number `first`."""
    column = test_results.c
    query = select(test_results).where(column.completion_id == completion_id, column.number >= first)
    return [TestRow(*row) for row in connection.execute(query.order_by(column.number).limit(size))]


def group_of(connection: Connection, one: Judged) -> list[Member]:
    """The completions of the prompt of `one`, itself among them; 256 at most."""
    of_group = (_done.run_id == one.run, _done.phase == one.phase, _done.step == one.step)
    in_order = _done.completion_id + 0  # by the column itself, SQLite would look for the group in the whole run
    query = members().where(*of_group, _done.task_id == one.task_id).order_by(in_order).limit(MOST_MEMBERS)
    return [Member(*row[1:]) for row in connection.execute(query)]


def copies(connection: Connection, program_id: int) -> int:
    """How often a program was written; counted up to 1,000."""
    some = select(_done.completion_id).where(_done.program_id == program_id).limit(MOST_COPIES).subquery()
    return connection.scalars(select(func.count()).select_from(some)).one()
