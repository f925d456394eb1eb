"""Completions taken out of the database, with all that is said of them."""

from __future__ import annotations

from sqlalchemy import ColumnElement, Connection, Table, delete, select, text

from agnostics.store.schema import completion, reward, test_result, verification


def delete_completions(connection: Connection, condition: ColumnElement[bool]) -> int:
    """Delete the completions whose verification meets `condition`, and say how many; nobody records meanwhile."""
    if connection.dialect.name == "postgresql":
        connection.execute(text("lock table completion in share row exclusive mode"))
    chosen = select(verification.c.completion_id).where(condition)
    deleted(connection, test_result, test_result.c.completion_id.in_(chosen))
    deleted(connection, reward, reward.c.completion_id.in_(chosen))
    count = deleted(connection, completion, completion.c.id.in_(chosen))
    deleted(connection, verification, condition)
    return count


def deleted(connection: Connection, table: Table, condition: ColumnElement[bool]) -> int:
    """Delete the rows of `table` that meet `condition`, and say how many."""
    return connection.execute(delete(table).where(condition)).rowcount
