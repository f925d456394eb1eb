"""One completion in full: its task, its program, and the result of each test."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection, select

from agnostics.store import schema
from agnostics.store.views import TestRow, VerificationRow, test_results, verifications
from agnostics.types.errors import UsageError
from agnostics.types.task import Test


@dataclass(frozen=True, slots=True)
class StoredCompletion:
    """A completion with its task: `tests` are the task's, `results` those of the tests that were run."""

    row: VerificationRow
    statement: str
    tests: tuple[Test, ...]
    results: tuple[TestRow, ...]


def load_completion(connection: Connection, completion_id: int) -> StoredCompletion:
    """The completion with this id. Raises UsageError if there is none."""
    row = connection.execute(select(verifications).where(verifications.c.completion_id == completion_id)).first()
    if row is None:
        raise UsageError(f"no completion has the id {completion_id}; agn results programs RUN lists them")
    task = connection.execute(
        select(schema.task.c.statement, schema.task.c.definition)
        .join_from(schema.task, schema.verification)
        .where(schema.verification.c.completion_id == completion_id)
    ).one()
    results = select(test_results).where(test_results.c.completion_id == completion_id).order_by(test_results.c.number)
    return StoredCompletion(
        row=VerificationRow(*row),
        statement=task.statement,
        tests=tuple(Test(**test) for test in task.definition["tests"]),
        results=tuple(TestRow(*result) for result in connection.execute(results)),
    )
