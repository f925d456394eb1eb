"""Read-only access to a results database, with a time limit for every query."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Self

from sqlalchemy import Connection, Engine, text
from sqlalchemy.exc import OperationalError

from agnostics.store.database import connect_read_only, parse_url, translated_errors
from agnostics.store.version import checked
from agnostics.types.errors import AgnosticsError

QUERY_SECONDS = 5.0
_CHECK_EVERY = 10_000  # SQLite's instructions, a fraction of a millisecond


class QueryTimeout(AgnosticsError):
    """A query exceeded its time limit."""


class ReadOnlyStore:
    """An open results database that cannot be written to; a context manager. Safe to use from several threads."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    @classmethod
    def open(cls, url: str) -> Self:
        """Open the database at `url` (a SQLAlchemy URL, or a path) through connections that cannot write.

        Raises UsageError if it does not exist, is not a results database or has another schema than this code;
        AgnosticsError if it cannot be opened.
        """
        return cls(checked(connect_read_only(parse_url(url))))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._engine.dispose()

    @contextmanager
    def reading(self, seconds: float = QUERY_SECONDS) -> Iterator[Connection]:
        """A transaction with a consistent view of the database; raises QueryTimeout for a query over `seconds`."""
        with translated_errors(self._engine.url), self._engine.connect() as connection:
            limit = _limit_sqlite if self._engine.dialect.name == "sqlite" else _limit_postgres
            with limit(connection, seconds):
                yield connection


@contextmanager
def _limit_sqlite(connection: Connection, seconds: float) -> Iterator[None]:
    driver = connection.connection.driver_connection
    assert driver is not None
    end = time.monotonic() + seconds
    driver.set_progress_handler(lambda: time.monotonic() > end, _CHECK_EVERY)
    try:
        yield
    except OperationalError as error:
        if getattr(error.orig, "sqlite_errorcode", None) == sqlite3.SQLITE_INTERRUPT:
            raise _timeout(seconds) from error
        raise
    finally:
        driver.set_progress_handler(None, 0)


@contextmanager
def _limit_postgres(connection: Connection, seconds: float) -> Iterator[None]:
    from psycopg.errors import QueryCanceled

    connection.execute(
        text("select set_config('statement_timeout', :limit, true)"), {"limit": f"{round(seconds * 1000)}ms"}
    )
    try:
        yield
    except OperationalError as error:
        if isinstance(error.orig, QueryCanceled):
            raise _timeout(seconds) from error
        raise


def _timeout(seconds: float) -> QueryTimeout:
    return QueryTimeout(f"the database did not answer within {seconds:g} s; narrow the query")
