"""Summaries of completions, for pages that list several."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, func, select

from agnostics.store import schema

_verification, _completion, _reward = schema.verification.c, schema.completion.c, schema.reward.c
_turn, _call = schema.turn.c, schema.tool_call.c
_last_turn = select(func.max(_turn.number)).where(_turn.completion_id == _verification.completion_id)
_turns = func.coalesce(_last_turn.scalar_subquery(), 1)
_failed_tools = (
    select(func.count())
    .where(_call.completion_id == _verification.completion_id, _call.ok.is_(False))
    .scalar_subquery()
)


@dataclass(frozen=True, slots=True)
class CompletionSummary:
    """A completion with its verification; `program` is None if it has none. A single answer has one turn."""

    completion_id: int
    run: str
    phase: str
    step: int
    sample: int
    verdict: str
    tests_passed: int
    tests_total: int
    reward: float | None
    tokens: int
    turns: int
    failed_tools: int
    program: str | None


def completion_summaries(
    connection: Connection, *conditions: ColumnElement[bool], size: int
) -> list[CompletionSummary]:
    """The newest `size` completions that meet `conditions`."""
    columns: tuple[ColumnElement[Any], ...] = (
        _verification.verdict,
        _verification.tests_passed,
        _verification.tests_total,
        _reward.value,
        _completion.tokens,
        _turns,
        _failed_tools,
        schema.program.c.text,
    )
    query = (
        select(
            _verification.completion_id,
            _verification.run_id,
            _verification.phase,
            _verification.step,
            _completion.sample,
            *columns,
        )
        .join(schema.completion, _completion.id == _verification.completion_id)
        .outerjoin(schema.program, schema.program.c.id == _verification.program_id)
        .outerjoin(schema.reward, _reward.completion_id == _verification.completion_id)
        .where(*conditions)
        .order_by(_verification.completion_id.desc())
        .limit(size)
    )
    return [CompletionSummary(*row) for row in connection.execute(query)]
