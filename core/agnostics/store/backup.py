"""A consistent copy of a results database in an SQLite file, while other processes write."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from sqlalchemy import URL, Connection, Engine, Table, select
from sqlalchemy.exc import DBAPIError

from agnostics.store import schema
from agnostics.store.database import connect, reading, translated_errors, writing
from agnostics.store.version import upgrade
from agnostics.store.writer.batch import insert_rows
from agnostics.types.errors import UsageError

_PORTION = 2000


def back_up(engine: Engine, path: Path) -> None:
    """Copy the database behind `engine` into a new SQLite file at `path`, atomically.

    A Postgres database becomes an SQLite file too, which every command reads with --store.
    Raises UsageError if the file exists.
    """
    if path.exists():
        raise UsageError(f"{path} exists already; name a new file")
    part = path.with_name(f"{path.name}.part")
    part.unlink(missing_ok=True)
    try:
        if engine.dialect.name == "sqlite":
            _copy_pages(engine, part)
        else:
            _copy_tables(engine, part)
        part.replace(path)
    finally:
        for leftover in (part, *(part.with_name(part.name + end) for end in ("-wal", "-shm", "-journal"))):
            leftover.unlink(missing_ok=True)


def _copy_pages(engine: Engine, path: Path) -> None:
    """Use SQLite's backup in a single step, so that the copy is consistent."""
    with translated_errors(engine.url), closing(engine.raw_connection()) as source:
        driver = source.driver_connection
        assert isinstance(driver, sqlite3.Connection)
        try:
            with closing(sqlite3.connect(path)) as target:
                driver.backup(target)
        except sqlite3.Error as error:
            raise DBAPIError("backup", None, error) from error


def _copy_tables(engine: Engine, path: Path) -> None:
    copy = connect(URL.create("sqlite", database=str(path)))
    try:
        upgrade(copy)
        with reading(engine.execution_options(isolation_level="REPEATABLE READ")) as source, writing(copy) as target:
            for table in schema.metadata.sorted_tables:
                _copy_rows(source, target, table)
    finally:
        copy.dispose()


def _copy_rows(source: Connection, target: Connection, table: Table) -> None:
    rows = source.execution_options(yield_per=_PORTION).execute(select(table)).mappings()
    for portion in rows.partitions():
        insert_rows(target, table, [dict(row) for row in portion])
