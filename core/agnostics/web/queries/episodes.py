"""The turns of an episode, for the page of its program."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, func, select

from agnostics.store import schema
from agnostics.store.queries.episodes import StoredTurn, spans_of, turns_of
from agnostics.store.views import VersionSpanRow

_turn = schema.turn.c


@dataclass(frozen=True, slots=True)
class TurnsPage:
    """Some turns of an episode of `count` turns, and the policy versions of all its tokens."""

    turns: Sequence[StoredTurn]
    count: int
    version_spans: Sequence[VersionSpanRow]


def turns_page(connection: Connection, completion_id: int, size: int, first: int = 1) -> TurnsPage:
    """`size` turns of an episode from number `first`; none of a single answer."""
    spans = spans_of(connection, completion_id)
    count = connection.scalars(select(func.max(_turn.number)).where(_turn.completion_id == completion_id)).one() or 0
    turns = list(turns_of(connection, completion_id, spans, first, size)) if count else []
    return TurnsPage(turns, count, spans)
