"""One episode in full: its turns, their tool calls, and the policy versions that sampled it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, select

from agnostics.store import schema
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
from agnostics.types.errors import UsageError


@dataclass(frozen=True, slots=True)
class StoredTurn:
    """A turn with its tool calls and the versions of the policy that sampled its tokens, in order."""

    row: TurnRow
    tool_calls: tuple[ToolCallRow, ...]
    policy_versions: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class StoredEpisode:
    """An episode with the statement of its task."""

    row: EpisodeRow
    statement: str
    turns: tuple[StoredTurn, ...]
    version_spans: tuple[VersionSpanRow, ...]


def load_episode(connection: Connection, completion_id: int) -> StoredEpisode:
    """The episode with this id. Raises UsageError if there is none."""
    row = connection.execute(select(episodes).where(episodes.c.completion_id == completion_id)).first()
    if row is None:
        raise UsageError(f"no episode has the id {completion_id}; agn results episodes RUN lists them")
    statement = connection.scalars(
        select(schema.task.c.statement)
        .join_from(schema.task, schema.verification)
        .where(schema.verification.c.completion_id == completion_id)
    ).one()
    spans = spans_of(connection, completion_id)
    return StoredEpisode(EpisodeRow(*row), statement, tuple(turns_of(connection, completion_id, spans)), tuple(spans))


def spans_of(connection: Connection, completion_id: int) -> list[VersionSpanRow]:
    """The policy versions of an episode's sampled tokens."""
    query = select(version_spans).where(version_spans.c.completion_id == completion_id)
    return [VersionSpanRow(*row) for row in connection.execute(query.order_by(version_spans.c.first_token))]


def turns_of(
    connection: Connection, completion_id: int, spans: Sequence[VersionSpanRow], first: int = 1, size: int | None = None
) -> Iterator[StoredTurn]:
    """The turns of an episode from number `first`, at most `size`; `spans` are all of the episode's."""
    query = select(turns).where(turns.c.completion_id == completion_id, turns.c.number >= first)
    rows = [TurnRow(*row) for row in connection.execute(query.order_by(turns.c.number).limit(size))]
    start = _tokens_before(connection, completion_id, first)
    for row in rows:
        end = start + row.tokens
        yield StoredTurn(row, _calls(connection, row), tuple(_versions(spans, start, end)))
        start = end


def _tokens_before(connection: Connection, completion_id: int, number: int) -> int:
    turn = schema.turn.c
    return sum(connection.scalars(select(turn.tokens).where(turn.completion_id == completion_id, turn.number < number)))


def _calls(connection: Connection, turn: TurnRow) -> tuple[ToolCallRow, ...]:
    columns = tool_calls.c
    query = select(tool_calls).where(columns.completion_id == turn.completion_id, columns.turn == turn.number)
    return tuple(ToolCallRow(*row) for row in connection.execute(query.order_by(columns.number)))


def _versions(spans: Sequence[VersionSpanRow], start: int, end: int) -> Iterator[int]:
    """The versions that sampled the tokens from `start` to before `end`."""
    for span in spans:
        if span.first_token < end and start < span.first_token + span.tokens:
            yield span.policy_version
