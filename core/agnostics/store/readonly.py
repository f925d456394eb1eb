"""A person's own SQL, run where it can change nothing and not for ever."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sqlalchemy import URL

from agnostics.store.compressed import plain
from agnostics.store.database import BUSY_TIMEOUT_S, CONNECT_TIMEOUT_S
from agnostics.types.errors import UsageError

_READS = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE}
_CHECK_EVERY = 10_000  # SQLite's instructions, a fraction of a millisecond


@dataclass(frozen=True, slots=True)
class Answer:
    """The columns of a query's result, each with a name of its own, and its rows as they come."""

    columns: Sequence[str]
    rows: Iterator[Sequence[Any]]


def ask(url: URL, sql: str, *, seconds: float) -> AbstractContextManager[Answer]:
    """The answer to `sql`, one statement that only reads, within `seconds`; the rows live inside the block.

    Raises UsageError, there or while the rows are read, where the database refuses it or the time is up.
    """
    return _ask_sqlite(url, sql, seconds) if url.get_backend_name() == "sqlite" else _ask_postgres(url, sql, seconds)


@contextmanager
def _ask_sqlite(url: URL, sql: str, seconds: float) -> Iterator[Answer]:
    path = Path(str(url.database)).absolute().as_uri()
    with closing(sqlite3.connect(f"{path}?mode=ro", uri=True, timeout=BUSY_TIMEOUT_S)) as connection:
        connection.execute("pragma query_only = on")
        connection.set_authorizer(lambda action, *_: sqlite3.SQLITE_OK if action in _READS else sqlite3.SQLITE_DENY)
        connection.create_function("plain", 1, plain, deterministic=True)
        end = time.monotonic() + seconds
        connection.set_progress_handler(lambda: time.monotonic() > end, _CHECK_EVERY)
        try:
            answer = _answer(connection.execute(sql))
            yield replace(answer, rows=map(_readable, answer.rows))
        except (sqlite3.Error, sqlite3.Warning, UnicodeError) as error:
            raise _refusal(str(error), late=time.monotonic() > end, seconds=seconds) from error


@contextmanager
def _ask_postgres(url: URL, sql: str, seconds: float) -> Iterator[Answer]:
    import psycopg

    end = time.monotonic() + seconds
    address = url.set(drivername="postgresql").render_as_string(hide_password=False)
    try:
        with psycopg.connect(address, connect_timeout=CONNECT_TIMEOUT_S) as connection:
            connection.read_only = True
            connection.execute("select set_config('statement_timeout', %s, true)", [f"{round(seconds * 1000)}ms"])
            # A cursor of the server's takes one query and nothing else: no copy to a file, no commit.
            cursor = connection.cursor(name="agnostics")
            answer = _answer(cursor.execute(sql))
            yield replace(answer, rows=map(_readable, _in_time(answer.rows, end, seconds)))
    except psycopg.Error as error:
        late = isinstance(error, psycopg.errors.QueryCanceled)
        raise _refusal(str(error), late=late, seconds=seconds) from error


def _answer(cursor: Any) -> Answer:
    if cursor.description is None:
        raise UsageError("SQL: nothing was asked; only select is allowed here")
    return Answer(_distinct([column[0] for column in cursor.description]), iter(cursor))


def _readable(row: Sequence[Any]) -> Sequence[Any]:
    """`row` with its compressed texts as texts, and other bytes in hexadecimal."""
    values = map(plain, row)
    return [value.hex() if isinstance(value, bytes) else value for value in values]


def _in_time(rows: Iterator[Sequence[Any]], end: float, seconds: float) -> Iterator[Sequence[Any]]:
    """`rows`, until the time is up: the server counts only the time of each portion."""
    for row in rows:
        if time.monotonic() > end:
            raise _refusal("", late=True, seconds=seconds)
        yield row


def _distinct(names: Sequence[str]) -> list[str]:
    """`names`, with a number after one that stood before."""
    return [f"{name}_{names[:i].count(name) + 1}" if name in names[:i] else name for i, name in enumerate(names)]


def _refusal(reason: str, *, late: bool, seconds: float) -> UsageError:
    if late:
        return UsageError(f"SQL: no answer within {seconds:g} s; narrow the query, or allow more with --seconds")
    hint = "; only reading is allowed here" if "not authorized" in reason or "read-only" in reason else ""
    return UsageError(f"SQL: {' '.join(reason.split())}{hint}")
