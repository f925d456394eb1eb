"""Bulk inserts: `executemany` in SQLite, `COPY` in Postgres."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from sqlalchemy import Connection, Table
from sqlalchemy.exc import DBAPIError

from agnostics.store.records import Row


def insert_rows(connection: Connection, table: Table, rows: Sequence[Row]) -> None:
    """Insert `rows`, which have the same columns in the same order. Raises DBAPIError."""
    if not rows:
        return
    names = list(rows[0])
    values = zip(*_columns(connection, table, names, rows), strict=True)
    columns = ", ".join(f'"{name}"' for name in names)
    if connection.dialect.name == "postgresql":
        _copy(connection, f"copy {table.name} ({columns}) from stdin", values)
    else:
        marks = ", ".join("?" * len(names))
        connection.exec_driver_sql(f"insert into {table.name} ({columns}) values ({marks})", list(values))


def _columns(
    connection: Connection, table: Table, names: Sequence[str], rows: Iterable[Row]
) -> Iterator[Iterable[Any]]:
    """The columns `names` of `rows`, converted for the driver: compressed texts, JSON."""
    dialect = connection.dialect
    for name, values in zip(names, zip(*(row.values() for row in rows), strict=True), strict=True):
        convert = table.c[name].type.dialect_impl(dialect).bind_processor(dialect)
        yield values if convert is None else map(convert, values)


def _copy(connection: Connection, statement: str, rows: Iterable[Sequence[Any]]) -> None:
    psycopg = connection.dialect.loaded_dbapi
    driver = connection.connection.cursor()
    try:
        with driver.copy(statement, writer=_BufferedWriter(psycopg.copy.LibpqWriter(driver))) as copy:
            for row in rows:
                copy.write_row(row)
    except psycopg.Error as error:
        raise DBAPIError(statement, None, error) from error
    finally:
        driver.close()


class _BufferedWriter:
    """A writer for psycopg's `copy` that sends nothing until all rows are encoded.

    Otherwise the server would read while rows are still being encoded: two processes, not one, would compete with the
    trainer for processors.
    """

    def __init__(self, writer: Any) -> None:
        self._writer = writer
        self._parts: list[bytes | bytearray] = []

    def write(self, part: bytes | bytearray) -> None:
        self._parts.append(part)

    def finish(self, error: BaseException | None = None) -> None:
        if error is None:
            self._writer.write(b"".join(self._parts))
        self._writer.finish(error)
