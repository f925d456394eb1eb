"""The user's own SQL, run read-only and with a time limit."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sqlalchemy import URL

from agnostics.store.compressed import decompress
from agnostics.store.database import BUSY_TIMEOUT_S, CONNECT_TIMEOUT_S
from agnostics.types.errors import UsageError

_READS = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE}
_CHECK_EVERY = 10_000  # SQLite's instructions, a fraction of a millisecond


@dataclass(frozen=True, slots=True)
class SqlResult:
    """The result of a query: the names of its columns, made distinct, and its rows, read during iteration."""

    columns: Sequence[str]
    rows: Iterator[Sequence[Any]]


def run_sql(url: URL, sql: str, *, seconds: float) -> AbstractContextManager[SqlResult]:
    """Run `sql`, one statement that only reads, for at most `seconds`; the rows can be read inside the block.

    Raises UsageError, there or while the rows are read, if the database rejects it or the time is up. SQLite cannot be
    stopped within one call of a function: then `late_error` has to be said by another thread.
    """
    return (
        _run_in_sqlite(url, sql, seconds) if url.get_backend_name() == "sqlite" else _run_in_postgres(url, sql, seconds)
    )


@contextmanager
def _run_in_sqlite(url: URL, sql: str, seconds: float) -> Iterator[SqlResult]:
    path = Path(str(url.database)).absolute().as_uri()
    with closing(sqlite3.connect(f"{path}?mode=ro", uri=True, timeout=BUSY_TIMEOUT_S)) as connection:
        connection.execute("pragma query_only = on")
        connection.set_authorizer(lambda action, *_: sqlite3.SQLITE_OK if action in _READS else sqlite3.SQLITE_DENY)
        connection.create_function("decompress", 1, decompress, deterministic=True)
        end = time.monotonic() + seconds
        connection.set_progress_handler(lambda: time.monotonic() > end, _CHECK_EVERY)
        try:
            result = _result(connection.execute(sql))
            yield replace(result, rows=map(_decoded, result.rows))
        except (sqlite3.Error, sqlite3.Warning, UnicodeError) as error:
            raise _refusal(str(error), late=time.monotonic() > end, seconds=seconds) from error


@contextmanager
def _run_in_postgres(url: URL, sql: str, seconds: float) -> Iterator[SqlResult]:
    import psycopg

    end = time.monotonic() + seconds
    address = url.set(drivername="postgresql").render_as_string(hide_password=False)
    try:
        with psycopg.connect(address, connect_timeout=CONNECT_TIMEOUT_S) as connection:
            connection.read_only = True
            connection.execute("select set_config('statement_timeout', %s, true)", [f"{round(seconds * 1000)}ms"])
            # A server-side cursor takes one query and nothing else: no copy to a file, no commit.
            cursor = connection.cursor(name="agnostics")
            result = _result(cursor.execute(sql))
            yield replace(result, rows=map(_decoded, _until(end, result.rows, seconds)))
    except psycopg.Error as error:
        late = isinstance(error, psycopg.errors.QueryCanceled)
        raise _refusal(str(error), late=late, seconds=seconds) from error


def _result(cursor: Any) -> SqlResult:
    if cursor.description is None:
        raise UsageError("SQL: the statement returns no rows; only select is allowed here")
    return SqlResult(_distinct([column[0] for column in cursor.description]), iter(cursor))


def _decoded(row: Sequence[Any]) -> Sequence[Any]:
    """`row` with compressed texts decompressed, and other bytes in hexadecimal."""
    values = map(decompress, row)
    return [value.hex() if isinstance(value, bytes) else value for value in values]


def _until(end: float, rows: Iterator[Sequence[Any]], seconds: float) -> Iterator[Sequence[Any]]:
    """`rows`, until the time is up: the server limits only the time of each fetch."""
    for row in rows:
        if time.monotonic() > end:
            raise _refusal("", late=True, seconds=seconds)
        yield row


def _distinct(names: Sequence[str]) -> list[str]:
    """`names`, with a number appended to repeated ones."""
    return [f"{name}_{names[:i].count(name) + 1}" if name in names[:i] else name for i, name in enumerate(names)]


def late_error(seconds: float) -> UsageError:
    """The error of a query that took longer than `seconds`."""
    return UsageError(f"SQL: no result within {seconds:g} s; narrow the query, or allow more with --seconds")


def _refusal(reason: str, *, late: bool, seconds: float) -> UsageError:
    if late:
        return late_error(seconds)
    hint = "; only reading is allowed here" if "not authorized" in reason or "read-only" in reason else ""
    return UsageError(f"SQL: {' '.join(reason.split())}{hint}")
