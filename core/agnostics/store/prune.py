"""Runs that nobody needs any more, taken out of the database with all that only they used."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import ColumnElement, Connection, Engine, Table, exists, select, text

from agnostics.store import schema
from agnostics.store.database import writing
from agnostics.store.deletion import delete_completions, deleted
from agnostics.store.version import vacuum

_done = schema.verification.c


@dataclass(frozen=True, slots=True)
class Pruned:
    """How much was deleted. Programs and tasks are those that no run has any more."""

    runs: int
    completions: int
    programs: int
    tasks: int


def runs_before(connection: Connection, time: datetime) -> list[str]:
    """The runs that were started before `time` (UTC), oldest first."""
    run = schema.run.c
    return list(connection.scalars(select(run.id).where(run.started_at < time).order_by(run.started_at, run.id)))


def prune(engine: Engine, runs: Sequence[str]) -> Pruned:
    """Delete `runs` with everything of theirs, then what no run refers to, and give the space back.

    All of it is deleted or nothing. Others may write meanwhile. The file of an SQLite database gets smaller; a Postgres
    server uses the space again.
    """
    with writing(engine) as connection:
        _keep_writers_out(connection)
        completions = delete_completions(connection, _done.run_id.in_(runs))
        found = deleted(connection, schema.run, schema.run.c.id.in_(runs))
        programs = _deleted_unused(connection, schema.program, _done.program_id)
        tasks = _deleted_unused(connection, schema.task, _done.task_id)
        _deleted_unused(connection, schema.language, schema.run.c.language_id)
    vacuum(engine)
    return Pruned(found, completions, programs, tasks)


def _keep_writers_out(connection: Connection) -> None:
    """In Postgres nobody may find a program that is about to be deleted, and refer to it; SQLite has one writer."""
    if connection.dialect.name == "postgresql":
        connection.execute(text("lock table language, task, program in share row exclusive mode"))


def _deleted_unused(connection: Connection, table: Table, reference: ColumnElement[int]) -> int:
    return deleted(connection, table, ~exists().where(reference == table.c.id))
