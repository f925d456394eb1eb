"""The episodes that match a filter, with their turns, tool calls and policy versions, as streams of rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

from sqlalchemy import ColumnElement, Connection, Table, select

from agnostics.store.filters import VerificationFilter, completion_ids
from agnostics.store.views import (
    EpisodeRow,
    ToolCallRow,
    TurnRow,
    VersionSpanRow,
    episodes,
    tool_calls,
    turns,
    version_spans,
)

Row = TypeVar("Row")


def episode_rows(connection: Connection, where: VerificationFilter, newest: int | None = None) -> Iterator[EpisodeRow]:
    """The episodes that match `where`, in the order of insertion; or the `newest`, the newest first."""
    order = episodes.c.completion_id if newest is None else episodes.c.completion_id.desc()
    return _rows(connection, where, newest, episodes, EpisodeRow, order)


def turn_rows(connection: Connection, where: VerificationFilter) -> Iterator[TurnRow]:
    """The turns of the episodes that match `where`, in order; a single answer is a turn, too."""
    return _rows(connection, where, None, turns, TurnRow, turns.c.completion_id, turns.c.number)


def tool_call_rows(connection: Connection, where: VerificationFilter) -> Iterator[ToolCallRow]:
    """The tool calls of the episodes that match `where`, in order."""
    columns = tool_calls.c
    order = (columns.completion_id, columns.turn, columns.number)
    return _rows(connection, where, None, tool_calls, ToolCallRow, *order)


def version_span_rows(connection: Connection, where: VerificationFilter) -> Iterator[VersionSpanRow]:
    """The policy versions of the sampled tokens of the episodes that match `where`, in order."""
    order = (version_spans.c.completion_id, version_spans.c.first_token)
    return _rows(connection, where, None, version_spans, VersionSpanRow, *order)


def _rows(
    connection: Connection,
    where: VerificationFilter,
    newest: int | None,
    view: Table,
    row_type: Callable[..., Row],
    *order: ColumnElement[int],
) -> Iterator[Row]:
    for ids in completion_ids(connection, where, newest):
        query = select(view).where(view.c.completion_id.in_(ids)).order_by(*order)
        for row in connection.execute(query):
            yield row_type(*row)
