"""Connections to a results database: where it is, how it is opened, and what its errors mean to people."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from shlex import quote
from typing import Any

import msgspec
from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError

from agnostics.store.compressed import plain
from agnostics.types.errors import AgnosticsError, MissingRequirement, UsageError
from agnostics.util.paths import data_folder

BUSY_TIMEOUT_S = 30.0
CONNECT_TIMEOUT_S = 10
CHECKPOINT_PAGES = 32_768
"""Pages of 4 KiB in SQLite's log before they are brought into the file: the more, the more often one was changed."""
_PASSWORDS = ("password", "sslpassword")
"""What of a URL's query is secret."""

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
"""Postgres's codes for a server that stops, has crashed, is starting, or has no connection left."""


class Unreachable(AgnosticsError):
    """The database cannot be reached now, and may be in a moment: its server is away, or its file is locked."""


def default_url() -> str:
    """The database in the user's data folder, used where none is named."""
    return f"sqlite:///{data_folder() / 'agnostics.db'}"


def without_password(url: str) -> str:
    """The address of a results database as it may be written down.

    Without a password in it, Postgres' own library takes the one in PGPASSWORD or ~/.pgpass.
    """
    if "://" not in url:
        return url
    parsed = make_url(url)
    secret = parsed.password is not None or not parsed.query.keys().isdisjoint(_PASSWORDS)
    return parsed._replace(password=None).difference_update_query(_PASSWORDS).render_as_string() if secret else url


def shown(url: URL) -> str:
    """The address of a results database as messages have it: *** for its password, and none in its query."""
    return str(url.difference_update_query(_PASSWORDS))


def naming(url: str) -> str:
    """The words that name the database at `url` in a command, without its password; none for the default one."""
    return "" if url == default_url() else f" --store {quote(without_password(url))}"


def parse_url(text: str) -> URL:
    """The database that `text` names: a SQLAlchemy URL, or the path of an SQLite file.

    Raises UsageError where it is neither, or names a kind of database that we do not support.
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
    """The file of an SQLite database."""
    return Path(str(engine.url.database))


def connect(url: URL) -> Engine:
    """An engine for `url`; nothing is opened yet. Raises MissingRequirement without the driver of Postgres."""
    if url.get_backend_name() == "sqlite":
        return _connect_sqlite(url)
    try:
        # A server that went away and came back has closed the connections that wait for their next use.
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
        connection.create_function("plain", 1, plain, deterministic=True)

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        # A transaction that reads first and writes later could not wait for a lock; so say at once which it is.
        writes = connection.get_execution_options().get("writes")
        connection.exec_driver_sql("begin immediate" if writes else "begin")

    return engine


def _compact(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def connect_read_only(url: URL) -> Engine:
    """An engine for `url` whose connections cannot write; nothing is opened yet. Raises as `connect`."""
    if url.get_backend_name() != "sqlite":
        return connect(url).execution_options(postgresql_readonly=True)

    def open_file() -> sqlite3.Connection:
        path = sqlite_path(engine).absolute().as_uri()
        options: dict[str, Any] = {"timeout": BUSY_TIMEOUT_S, "isolation_level": None, "check_same_thread": False}
        opened: sqlite3.Connection = sqlite3.connect(f"{path}?mode=ro", uri=True, **options)
        opened.create_function("plain", 1, plain, deterministic=True)
        return opened

    engine = create_engine(url, creator=open_file)
    event.listen(engine, "begin", lambda connection: connection.exec_driver_sql("begin"))
    return engine


@contextmanager
def writing(engine: Engine) -> Iterator[Connection]:
    """A transaction that writes: committed at the end of the block, rolled back where it raises."""
    with explained(engine.url), engine.connect().execution_options(writes=True) as connection, connection.begin():
        yield connection


@contextmanager
def reading(engine: Engine) -> Iterator[Connection]:
    """A transaction that reads one state of the database."""
    with explained(engine.url), engine.connect() as connection:
        yield connection


@contextmanager
def explained(url: URL) -> Iterator[None]:
    """Turns what the database's driver raises into one line that names the database and the reason."""
    try:
        yield
    except BrokenPipeError:  # of who reads what is printed
        raise
    except OSError as error:
        raise AgnosticsError(f"results database {shown(url)}: {error.strerror}: {error.filename}") from error
    except DBAPIError as error:
        kind = Unreachable if _may_pass(error.orig) else AgnosticsError
        raise kind(f"results database {shown(url)}: {_reason(error.orig)}") from error


def _may_pass(error: BaseException | None) -> bool:
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
