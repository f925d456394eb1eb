"""Connections to a results database: URLs, engines, transactions, and error messages."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from shlex import quote
from typing import Any

import msgspec
from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError

from agnostics.store.compressed import decompress
from agnostics.types.errors import AgnosticsError, MissingRequirement, UsageError

BUSY_TIMEOUT_S = 30.0
CONNECT_TIMEOUT_S = 10
CHECKPOINT_PAGES = 32_768
"""Pages of 4 KiB in the write-ahead log before a checkpoint; a large log merges repeated changes of a page."""
_PASSWORDS = ("password", "sslpassword")
"""The secret parameters of a URL's query."""

_SQLITE_REASONS = {
    sqlite3.SQLITE_FULL: "the disk is full; free some space and run it again",
    sqlite3.SQLITE_IOERR: "reading or writing failed; is the disk full?",
    sqlite3.SQLITE_BUSY: f"another process has kept it locked for {BUSY_TIMEOUT_S:.0f} s",
    sqlite3.SQLITE_CANTOPEN: "it cannot be opened; do the folder and the permission to write there exist?",
    sqlite3.SQLITE_READONLY: "it cannot be written to; check its permissions",
    sqlite3.SQLITE_NOTADB: "the file is not a results database; name another with --store",
    sqlite3.SQLITE_CORRUPT: "the file is damaged; name another with --store",
}


_STOPPED = {"57P01", "57P02", "57P03", "53300"}
"""Postgres error codes for a server that stops, has crashed, is starting, or has no connection left."""


class DatabaseUnavailable(AgnosticsError):
    """A transient failure: the server cannot be reached, or the file is locked."""


def default_url() -> str:
    """The URL of the default database, in the user's data folder."""
    data = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return f"sqlite:///{Path(data) / 'agnostics' / 'agnostics.db'}"


def without_password(url: str) -> str:
    """The URL of a results database without its password, for files and logs.

    Given such a URL, Postgres' client library takes the password from PGPASSWORD or ~/.pgpass.
    """
    if "://" not in url:
        return url
    parsed = make_url(url)
    secret = parsed.password is not None or not parsed.query.keys().isdisjoint(_PASSWORDS)
    return parsed._replace(password=None).difference_update_query(_PASSWORDS).render_as_string() if secret else url


def display_url(url: URL) -> str:
    """The URL of a results database for messages: *** in place of its password, and no secrets in its query."""
    return str(url.difference_update_query(_PASSWORDS))


def store_argument(url: str) -> str:
    """The `--store` argument for the database at `url`, without its password; empty for the default database."""
    return "" if url == default_url() else f" --store {quote(without_password(url))}"


def parse_url(text: str) -> URL:
    """The URL that `text` means: a SQLAlchemy URL, or the path of an SQLite file.

    Raises UsageError if it is neither, or the database system is not supported.
    """
    if "://" not in text:
        return URL.create("sqlite", database=str(Path(text).expanduser()))
    try:
        url = make_url(text)
    except (ArgumentError, ValueError) as error:
        raise UsageError("--store: not a database URL; try sqlite:///runs.db or postgresql://user@host/name") from error
    if url.drivername == "postgresql":
        return url.set(drivername="postgresql+psycopg")
    if url.drivername not in {"sqlite", "postgresql+psycopg"}:
        raise UsageError(f"--store: {url.drivername!r} is not supported; use sqlite:///… or postgresql://…")
    if url.drivername == "sqlite" and url.database in {None, "", ":memory:"}:
        raise UsageError("--store: name a file, as in sqlite:///runs.db; a database in memory would be lost")
    return url


def sqlite_path(engine: Engine) -> Path:
    """The path of an SQLite database."""
    return Path(str(engine.url.database))


def connect(url: URL) -> Engine:
    """An engine for `url`; no connection is opened yet. Raises MissingRequirement without the driver of Postgres."""
    if url.get_backend_name() == "sqlite":
        return _connect_sqlite(url)
    try:
        # A restarted server has closed the pooled connections.
        return create_engine(
            url, connect_args={"connect_timeout": CONNECT_TIMEOUT_S}, json_serializer=_compact, pool_pre_ping=True
        )
    except (ImportError, NoSuchModuleError) as error:
        raise MissingRequirement("Postgres needs its driver: pip install 'agnostics[postgres]'") from error


def _connect_sqlite(url: URL) -> Engine:
    arguments = {"timeout": BUSY_TIMEOUT_S, "isolation_level": None, "check_same_thread": False}
    engine = create_engine(url, connect_args=arguments, json_serializer=_compact)

    @event.listens_for(engine, "connect")
    def _configure(connection: sqlite3.Connection, _record: Any) -> None:
        connection.execute("pragma synchronous = normal")
        connection.execute(f"pragma wal_autocheckpoint = {CHECKPOINT_PAGES}")
        connection.execute("pragma foreign_keys = on")
        connection.create_function("decompress", 1, decompress, deterministic=True)

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        # A transaction that reads first and writes later cannot wait for a lock, so it declares itself at the start.
        writes = connection.get_execution_options().get("writes")
        connection.exec_driver_sql("begin immediate" if writes else "begin")

    return engine


def _compact(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def connect_read_only(url: URL) -> Engine:
    """An engine for `url` whose connections cannot write; none is opened yet. Raises as `connect`."""
    if url.get_backend_name() != "sqlite":
        return connect(url).execution_options(postgresql_readonly=True)

    def open_file() -> sqlite3.Connection:
        path = sqlite_path(engine).absolute().as_uri()
        options: dict[str, Any] = {"timeout": BUSY_TIMEOUT_S, "isolation_level": None, "check_same_thread": False}
        opened: sqlite3.Connection = sqlite3.connect(f"{path}?mode=ro", uri=True, **options)
        opened.create_function("decompress", 1, decompress, deterministic=True)
        return opened

    engine = create_engine(url, creator=open_file)
    event.listen(engine, "begin", lambda connection: connection.exec_driver_sql("begin"))
    return engine


@contextmanager
def writing(engine: Engine) -> Iterator[Connection]:
    """A write transaction: committed at the end of the block, rolled back if it raises."""
    with (
        translated_errors(engine.url),
        engine.connect().execution_options(writes=True) as connection,
        connection.begin(),
    ):
        yield connection


@contextmanager
def reading(engine: Engine) -> Iterator[Connection]:
    """A read transaction with a consistent view of the database."""
    with translated_errors(engine.url), engine.connect() as connection:
        yield connection


@contextmanager
def translated_errors(url: URL) -> Iterator[None]:
    """Translate errors of the database driver into AgnosticsError: one line with the database and the reason."""
    try:
        yield
    except BrokenPipeError:  # the reader of stdout has gone
        raise
    except OSError as error:
        raise AgnosticsError(f"results database {display_url(url)}: {error.strerror}: {error.filename}") from error
    except DBAPIError as error:
        error_type = DatabaseUnavailable if _is_transient(error.orig) else AgnosticsError
        raise error_type(f"results database {display_url(url)}: {_reason(error.orig)}") from error


def _is_transient(error: BaseException | None) -> bool:
    if isinstance(error, sqlite3.Error):
        return getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY
    state = getattr(error, "sqlstate", None)
    lost = type(error).__name__ in {"OperationalError", "InterfaceError"}
    return lost if state is None else state in _STOPPED or state.startswith("08")


def _reason(error: BaseException | None) -> str:
    code = getattr(error, "sqlite_errorcode", None)
    if code is not None and code & 0xFF in _SQLITE_REASONS:
        return _SQLITE_REASONS[code & 0xFF]
    return " ".join(str(error).split())
