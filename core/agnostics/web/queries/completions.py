"""What a model answered, with what came of it, in brief: for pages that show several."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import ColumnElement, Connection, select

from agnostics.store import schema

_done, _made, _reward = schema.verification.c, schema.completion.c, schema.reward.c


@dataclass(frozen=True, slots=True)
class Answer:
    """A completion with its outcome. `program` is None where there was none."""

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
    program: str | None


def answers(connection: Connection, *conditions: ColumnElement[bool], size: int) -> list[Answer]:
    """The newest `size` completions of which `conditions` hold."""
    outcome = (_done.verdict, _done.tests_passed, _done.tests_total, _reward.value, _made.tokens, schema.program.c.text)
    query = (
        select(_done.completion_id, _done.run_id, _done.phase, _done.step, _made.sample, *outcome)
        .join(schema.completion, _made.id == _done.completion_id)
        .outerjoin(schema.program, schema.program.c.id == _done.program_id)
        .outerjoin(schema.reward, _reward.completion_id == _done.completion_id)
        .where(*conditions)
        .order_by(_done.completion_id.desc())
        .limit(size)
    )
    return [Answer(*row) for row in connection.execute(query)]
