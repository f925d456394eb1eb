"""Episodes: those of a run, and the turns of one for the page of its program."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, func, select

from agnostics.store import schema
from agnostics.store.filters import VerificationFilter
from agnostics.store.queries.episodes import StoredTurn, spans_of, turns_of
from agnostics.store.views import EpisodeRow, VersionSpanRow, episodes

_turn, _verification = schema.turn.c, schema.verification.c


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


def episodes_page(
    connection: Connection, where: VerificationFilter, size: int, before: int | None = None
) -> list[EpisodeRow]:
    """The newest `size` episodes that match `where`, with ids below `before`."""
    ids = where.ids().order_by(_verification.completion_id.desc()).limit(size)
    if before is not None:
        ids = ids.where(_verification.completion_id < before)
    view = episodes.c.completion_id
    query = select(episodes).where(view.in_(connection.scalars(ids).all())).order_by(view.desc())
    return [EpisodeRow(*row) for row in connection.execute(query)]
