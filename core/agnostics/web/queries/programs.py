"""One completion: its program, test results and group, and the number of copies of its program."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, func, select

from agnostics.store import schema
from agnostics.store.views import TestRow, test_results
from agnostics.web.queries.steps import GroupMember, members

MOST_COPIES = 1000
MOST_MEMBERS = 256
_verification, _completion, _task = schema.verification.c, schema.completion.c, schema.task.c
_reward, _program = schema.reward.c, schema.program.c


@dataclass(frozen=True, slots=True)
class CompletionDetail:
    """A completion with its task, verification and reward, without its tests; `program` is None if it has none."""

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
    text: str
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


def completion_detail(connection: Connection, completion_id: int) -> CompletionDetail | None:
    """The completion with the id `completion_id`, None if there is none."""
    query = (
        select(
            _verification.completion_id,
            _verification.run_id.label("run"),
            schema.language.c.name.label("language"),
            schema.run.c.model,
        )
        .add_columns(
            _verification.phase,
            _verification.step,
            _verification.task_id,
            _task.key.label("task"),
            _task.statement,
            _task.definition,
        )
        .add_columns(
            _completion.sample,
            _completion.before,
            _completion.after,
            _completion.tokens,
            _completion.finish_reason,
            _completion.policy_version,
        )
        .add_columns(
            _verification.program_id, _program.text.label("program"), _verification.verdict, _verification.tests_passed
        )
        .add_columns(
            _verification.tests_total,
            _verification.wall_ms,
            _verification.sandbox,
            _verification.attempts,
            _verification.error,
        )
        .add_columns(
            _verification.compile_wall_ms,
            _verification.compile_exit_code,
            _verification.compile_signal,
            _verification.compile_message,
        )
        .add_columns(_reward.value.label("reward"), _reward.advantage)
        .join(schema.completion, _completion.id == _verification.completion_id)
        .join(schema.task, _task.id == _verification.task_id)
        .join(schema.run, schema.run.c.id == _verification.run_id)
        .join(schema.language, schema.language.c.id == schema.run.c.language_id)
        .outerjoin(schema.program, _program.id == _verification.program_id)
        .outerjoin(schema.reward, _reward.completion_id == _verification.completion_id)
        .where(_verification.completion_id == completion_id)
    )
    row = connection.execute(query).mappings().one_or_none()
    if row is None:
        return None
    fields = dict(row)
    before, after = fields.pop("before"), fields.pop("after")
    return CompletionDetail(**fields, text=before if after is None else f"{before}{fields['program']}{after}")


def results_page(connection: Connection, completion_id: int, size: int, first: int = 1) -> list[TestRow]:
    """`size` test results of a completion, from number `first`."""
    column = test_results.c
    query = select(test_results).where(column.completion_id == completion_id, column.number >= first)
    return [TestRow(*row) for row in connection.execute(query.order_by(column.number).limit(size))]


def group_of(connection: Connection, one: CompletionDetail) -> list[GroupMember]:
    """The completions of the same prompt in the same step, `one` included; 256 at most."""
    of_group = (_verification.run_id == one.run, _verification.phase == one.phase, _verification.step == one.step)
    order = _verification.completion_id + 0  # ordered by the column itself, SQLite would scan the whole run
    query = members().where(*of_group, _verification.task_id == one.task_id).order_by(order).limit(MOST_MEMBERS)
    return [GroupMember(*row[1:]) for row in connection.execute(query)]


def count_copies(connection: Connection, program_id: int) -> int:
    """The number of completions with this program, counted up to 1,000."""
    some = (
        select(_verification.completion_id).where(_verification.program_id == program_id).limit(MOST_COPIES).subquery()
    )
    return connection.scalars(select(func.count()).select_from(some)).one()
