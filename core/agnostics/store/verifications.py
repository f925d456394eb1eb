"""The verifications that match a filter, and their test results, as streams of rows."""

from __future__ import annotations

from collections.abc import Iterator

from sqlalchemy import Connection, select

from agnostics.store.filters import VerificationFilter, completion_ids
from agnostics.store.views import TestRow, VerificationRow, test_results, verifications


def verification_rows(
    connection: Connection, where: VerificationFilter, newest: int | None = None
) -> Iterator[VerificationRow]:
    """The verifications that match `where`, in the order of insertion; or the `newest`, the newest first."""
    order = verifications.c.completion_id if newest is None else verifications.c.completion_id.desc()
    for ids in completion_ids(connection, where, newest):
        query = select(verifications).where(verifications.c.completion_id.in_(ids)).order_by(order)
        for row in connection.execute(query):
            yield VerificationRow(*row)


def test_rows(connection: Connection, where: VerificationFilter) -> Iterator[TestRow]:
    """The test results of the verifications that match `where`, in the order of insertion."""
    for ids in completion_ids(connection, where):
        query = select(test_results).where(test_results.c.completion_id.in_(ids))
        for row in connection.execute(query.order_by(test_results.c.completion_id, test_results.c.number)):
            yield TestRow(*row)
