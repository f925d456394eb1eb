"""Every verification that a filter means, and its tests, as rows that come while they are read."""

from __future__ import annotations

from collections.abc import Iterator

from sqlalchemy import Connection, select

from agnostics.store.filters import Filter, completion_ids
from agnostics.store.views import TestRow, VerificationRow, test_results, verifications


def verification_rows(connection: Connection, wanted: Filter, newest: int | None = None) -> Iterator[VerificationRow]:
    """What `wanted` means, in the order in which it was written; or the `newest` of it, the newest first."""
    order = verifications.c.completion_id if newest is None else verifications.c.completion_id.desc()
    for ids in completion_ids(connection, wanted, newest):
        query = select(verifications).where(verifications.c.completion_id.in_(ids)).order_by(order)
        for row in connection.execute(query):
            yield VerificationRow(*row)


def test_rows(connection: Connection, wanted: Filter) -> Iterator[TestRow]:
    """What the tests of what `wanted` means did, one after the other."""
    for ids in completion_ids(connection, wanted):
        query = select(test_results).where(test_results.c.completion_id.in_(ids))
        for row in connection.execute(query.order_by(test_results.c.completion_id, test_results.c.number)):
            yield TestRow(*row)
