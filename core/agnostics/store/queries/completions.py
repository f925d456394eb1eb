"""One answer of a model in full: what was asked, what it wrote, and what each test made of it."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection, select

from agnostics.store import schema
from agnostics.store.views import TestRow, VerificationRow, test_results, verifications
from agnostics.types.errors import UsageError
from agnostics.types.task import Test


@dataclass(frozen=True, slots=True)
class StoredAnswer:
    """A completion with its task: `asked` are the task's tests, `ran` what came of them, as far as they ran."""

    row: VerificationRow
    statement: str
    asked: tuple[Test, ...]
    ran: tuple[TestRow, ...]


def answer_of(connection: Connection, completion_id: int) -> StoredAnswer:
    """The completion with this number. Raises UsageError where there is none."""
    row = connection.execute(select(verifications).where(verifications.c.completion_id == completion_id)).first()
    if row is None:
        raise UsageError(f"no completion has the number {completion_id}; agn results programs RUN lists them")
    task = connection.execute(
        select(schema.task.c.statement, schema.task.c.definition)
        .join_from(schema.task, schema.verification)
        .where(schema.verification.c.completion_id == completion_id)
    ).one()
    ran = select(test_results).where(test_results.c.completion_id == completion_id).order_by(test_results.c.number)
    return StoredAnswer(
        row=VerificationRow(*row),
        statement=task.statement,
        asked=tuple(Test(**test) for test in task.definition["tests"]),
        ran=tuple(TestRow(*test) for test in connection.execute(ran)),
    )
