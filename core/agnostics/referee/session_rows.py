"""The rows of an agent session: a session is created once, and grows by events."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

from sqlalchemy import Connection, RowMapping, insert, select, update

from agnostics.referee.problem import Problem
from agnostics.referee.protocol import Protocol
from agnostics.referee.state import Event
from agnostics.store import schema
from agnostics.store.database import writing
from agnostics.store.records import program_row, sanitize
from agnostics.store.store import Store
from agnostics.store.writer.batch import ensure_ids
from agnostics.types.errors import UsageError, unknown_name_error
from agnostics.types.language import NAME_PATTERN
from agnostics.types.task import Task

MAX_NAME = 100
"""The most characters of a session's name, which is that of a folder."""


@dataclass(frozen=True, slots=True)
class SessionRow:
    """A session without its problems and events. Times are UTC."""

    id: int
    name: str
    created_at: datetime
    finished_at: datetime | None
    dataset: str
    language: str
    player: str
    player_options: Mapping[str, Any]
    model: str
    protocol: Protocol
    seed: int | None
    agnostics_version: str


def create_session(
    store: Store,
    name: str,
    *,
    problems: Sequence[Problem],
    protocol: Protocol,
    language: str,
    dataset: str,
    player: str,
    player_options: Mapping[str, Any] | None = None,
    model: str = "",
    seed: int | None = None,
) -> None:
    """Insert a new session with its problems. Raises UsageError if the name is taken or is not a valid one."""
    if len(name) > MAX_NAME or not re.fullmatch(NAME_PATTERN, name):
        raise UsageError(
            f"--name {name[:MAX_NAME]!r}: use up to {MAX_NAME} lower-case letters and digits, also _ + . -"
        )
    facts = {"dataset": dataset, "language": language, "player": player, "model": model, "seed": seed}
    with writing(store.engine) as connection:
        if name in _names(connection):
            raise UsageError(f"there is a session {name!r} already; give another --name, or resume it with --resume")
        row = {
            "name": name,
            "created_at": _now(),
            "player_options": dict(player_options or {}),
            "protocol": protocol.model_dump(),
            "agnostics_version": version("agnostics"),
            **sanitize(facts),
        }
        session = schema.agent_session
        session_id = connection.execute(insert(session).values(row).returning(session.c.id)).scalar_one()
        rows = [_problem_row(session_id, position, problem) for position, problem in enumerate(problems)]
        connection.execute(insert(schema.session_problem), rows)


def session_rows(connection: Connection) -> list[SessionRow]:
    """Every session, in the order of creation."""
    rows = connection.execute(select(schema.agent_session).order_by(schema.agent_session.c.id)).mappings()
    return [_session(row) for row in rows]


def find_session(connection: Connection, name: str) -> SessionRow:
    """The session called `name`. Raises UsageError with the nearest name."""
    query = select(schema.agent_session).where(schema.agent_session.c.name == name)
    row = connection.execute(query).mappings().one_or_none()
    if row is None:
        raise unknown_name_error("session", name, _names(connection))
    return _session(row)


def read_problems(connection: Connection, session_id: int) -> list[Problem]:
    """The problems of a session in their order."""
    problem = schema.session_problem.c
    query = select(problem.task, problem.unsolvable).where(problem.session_id == session_id).order_by(problem.position)
    return [Problem(Task.model_validate(json.loads(row.task)), row.unsolvable) for row in connection.execute(query)]


def read_events(connection: Connection, session_id: int) -> list[Event]:
    """The events of a session in their order."""
    event = schema.session_event.c
    columns = (event.sequence, event.kind, event.position, event.data, event.at, event.seconds, event.program_id)
    query = select(*columns).where(event.session_id == session_id).order_by(event.sequence)
    return [Event(**row) for row in connection.execute(query).mappings()]


def append_event(store: Store, session_id: int, event: Event, program: str | None) -> Event:
    """Commit `event` as the next one of a session; `program` is stored with it. Returns it as it is stored.

    A `finish` ends the session. Raises AgnosticsError if another process has written an event with its sequence.
    """
    with writing(store.engine) as connection:
        program_id = None if program is None else _program_id(connection, sanitize(program))
        row = {
            "session_id": session_id,
            "sequence": event.sequence,
            "at": _now(),
            "kind": event.kind,
            "position": event.position,
            "program_id": program_id,
            "seconds": event.seconds,
            "data": sanitize(event.data),
        }
        connection.execute(insert(schema.session_event).values(row))
        if event.kind == "finish":
            session = schema.agent_session
            connection.execute(update(session).where(session.c.id == session_id).values(finished_at=row["at"]))
    del row["session_id"]
    return Event(**row)


def _program_id(connection: Connection, program: str) -> int:
    row = program_row(program)
    return ensure_ids(connection, schema.program, [row])[row["sha256"]]


def _names(connection: Connection) -> list[str]:
    return list(connection.scalars(select(schema.agent_session.c.name)))


def _session(row: RowMapping) -> SessionRow:
    return SessionRow(**{**row, "protocol": Protocol.model_validate(row["protocol"])})


def _problem_row(session_id: int, position: int, problem: Problem) -> dict[str, Any]:
    return {
        "session_id": session_id,
        "position": position,
        "task_id": sanitize(problem.id),
        "tier": sanitize(problem.tier),
        "unsolvable": sanitize(problem.unsolvable),
        "task": json.dumps(problem.task.model_dump(mode="python")),  # in ASCII: a text may hold anything
    }


def _now() -> datetime:
    return datetime.now(UTC).replace(tzinfo=None)
