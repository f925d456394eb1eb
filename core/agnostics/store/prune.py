"""Deletion of runs, with the programs, tasks and languages that no other run, and no agent session, uses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import ColumnElement, Connection, Engine, Table, and_, exists, select, text

from agnostics.store import schema
from agnostics.store.database import writing
from agnostics.store.deletion import delete_completions, delete_rows
from agnostics.store.version import vacuum

_verification = schema.verification.c
_event = schema.session_event.c


@dataclass(frozen=True, slots=True)
class PruneResult:
    """The numbers of deleted rows. Programs and tasks are deleted if nothing else uses them."""

    runs: int
    completions: int
    programs: int
    tasks: int


def runs_before(connection: Connection, time: datetime) -> list[str]:
    """The runs that were started before `time` (UTC), oldest first."""
    run = schema.run.c
    return list(connection.scalars(select(run.id).where(run.started_at < time).order_by(run.started_at, run.id)))


def prune(engine: Engine, runs: Sequence[str]) -> PruneResult:
    """Delete `runs` with all their rows, then the shared rows that nothing refers to, and free the space.

    One transaction: everything is deleted or nothing. Other processes may write meanwhile. The file of an SQLite
    database gets smaller; a Postgres server reuses the space.
    """
    with writing(engine) as connection:
        _lock_out_writers(connection)
        completions = delete_completions(connection, _verification.run_id.in_(runs))
        deleted_runs = delete_rows(connection, schema.run, schema.run.c.id.in_(runs))
        programs = _delete_unused(connection, schema.program, _verification.program_id, _event.program_id)
        tasks = _delete_unused(connection, schema.task, _verification.task_id)
        _delete_unused(connection, schema.language, schema.run.c.language_id)
    vacuum(engine)
    return PruneResult(deleted_runs, completions, programs, tasks)


def _lock_out_writers(connection: Connection) -> None:
    """Keep other Postgres clients from referring to a program that is about to be deleted; SQLite has one writer."""
    if connection.dialect.name == "postgresql":
        connection.execute(text("lock table language, task, program in share row exclusive mode"))


def _delete_unused(connection: Connection, table: Table, *references: ColumnElement[int]) -> int:
    return delete_rows(connection, table, and_(*(~exists().where(column == table.c.id) for column in references)))
