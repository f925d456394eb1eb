"""Deletion of completions with all their rows."""

from __future__ import annotations

from sqlalchemy import ColumnElement, Connection, Table, delete, select, text

from agnostics.store.schema import (
    completion,
    completion_metric,
    reward,
    test_result,
    tool_call,
    turn,
    verification,
    version_span,
)

_OF_COMPLETIONS = (test_result, reward, turn, tool_call, version_span, completion_metric)


def delete_completions(connection: Connection, condition: ColumnElement[bool]) -> int:
    """Delete the completions whose verification meets `condition`; locks out writers. Returns their number."""
    if connection.dialect.name == "postgresql":
        connection.execute(text("lock table completion in share row exclusive mode"))
    chosen = select(verification.c.completion_id).where(condition)
    for table in _OF_COMPLETIONS:
        delete_rows(connection, table, table.c.completion_id.in_(chosen))
    count = delete_rows(connection, completion, completion.c.id.in_(chosen))
    delete_rows(connection, verification, condition)
    return count


def delete_rows(connection: Connection, table: Table, condition: ColumnElement[bool]) -> int:
    """Delete the rows of `table` that meet `condition`. Returns their number."""
    return connection.execute(delete(table).where(condition)).rowcount
