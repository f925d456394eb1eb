"""Which schema a database has, and bringing it to the one of this code."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Literal

from sqlalchemy import Connection, Engine, PoolProxiedConnection, inspect, text

from agnostics.store.database import explained, reading, shown, sqlite_path
from agnostics.types.errors import UsageError

MIGRATIONS = Path(__file__).parent / "migrations"
VERSION_TABLE = "agnostics_version"
_LOCK = 0x61676E  # any number that all of us agree on


def known_versions() -> list[str]:
    """The versions of the schema that this code knows, oldest first."""
    return sorted(path.stem[1:5] for path in (MIGRATIONS / "versions").glob("v[0-9]*.py"))


def newest_version() -> str:
    """The version that this code reads and writes."""
    return known_versions()[-1]


def current_version(connection: Connection) -> str | None:
    """The version of a database, None where it is empty. Raises UsageError where it is somebody else's."""
    tables = inspect(connection).get_table_names()
    if not tables:
        return None
    if VERSION_TABLE not in tables:
        raise UsageError(
            f"{shown(connection.engine.url)} is not a results database: it holds other tables; see --store"
        )
    return connection.execute(text(f"select version_num from {VERSION_TABLE}")).scalar_one_or_none()


def require_newest(engine: Engine, version: str | None) -> None:
    """Raises UsageError, with the command to run, unless `version` is the one of this code."""
    if version is None:
        raise UsageError(f"no results database at {shown(engine.url)} yet; agn run makes one")
    if version not in known_versions():
        raise UsageError(
            f"results database {shown(engine.url)} has schema {version}, newer than this agnostics knows "
            f"({newest_version()}); run pip install --upgrade agnostics"
        )
    if version != newest_version():
        raise UsageError(
            f"results database {shown(engine.url)} has the old schema {version}, "
            f"not {newest_version()}; run agn db upgrade"
        )


def checked(engine: Engine, *, create: bool = False) -> Engine:
    """`engine`, whose database has the schema of this code; made where there is none and `create` is true.

    Raises UsageError where it has another, is somebody else's, or is not there; the engine is then closed.
    """
    try:
        version = version_of(engine)
        if version is None and create:
            upgrade(engine)
        else:
            require_newest(engine, version)
    except BaseException:
        engine.dispose()
        raise
    return engine


def version_of(engine: Engine) -> str | None:
    """The version of the database behind `engine`, None where there is none yet. Raises as `current_version`."""
    if engine.dialect.name == "sqlite" and not sqlite_path(engine).exists():
        return None
    with reading(engine) as connection:
        return current_version(connection)


def upgrade(engine: Engine) -> None:
    """Bring a database to the schema of this code, whole or not at all; make it where there is none.

    Raises UsageError for a database that is newer than the code or somebody else's.
    """
    before = version_of(engine)
    if before is None:
        _make_file(engine)
    with _migrating(engine) as connection:
        _wait_for_others(connection)
        version = current_version(connection)
        if version is not None and version not in known_versions():
            require_newest(engine, version)
        if version != newest_version():
            _migrate(connection)
    if before is not None and before != newest_version():
        vacuum(engine)


def _make_file(engine: Engine) -> None:
    """An SQLite file in which readers and a writer work at the same time; the file remembers it."""
    if engine.dialect.name != "sqlite":
        return
    with explained(engine.url):
        sqlite_path(engine).parent.mkdir(parents=True, exist_ok=True)
    with explained(engine.url), closing(engine.raw_connection()) as connection:
        _outside(connection, "pragma journal_mode = wal")


def vacuum(engine: Engine) -> None:
    """Give the space of deleted rows back to the disk, where that is asked of us: in SQLite."""
    if engine.dialect.name == "sqlite":
        with explained(engine.url), closing(engine.raw_connection()) as connection:
            _outside(connection, "vacuum")


@contextmanager
def _migrating(engine: Engine) -> Iterator[Connection]:
    """A transaction that writes, in which a table of SQLite may be made anew: rows that refer to its stay."""
    with explained(engine.url), engine.connect().execution_options(writes=True) as connection:
        _watch_references(connection, "off")
        try:
            with connection.begin():
                yield connection
        finally:
            _watch_references(connection, "on")


def _watch_references(connection: Connection, state: Literal["on", "off"]) -> None:
    if connection.dialect.name == "sqlite":
        _outside(connection.connection, f"pragma foreign_keys = {state}")


def _outside(connection: PoolProxiedConnection, statement: str) -> None:
    """Run what SQLite refuses within a transaction."""
    driver = connection.driver_connection
    assert driver is not None
    driver.execute(statement)


def _wait_for_others(connection: Connection) -> None:
    if connection.dialect.name == "postgresql":
        connection.execute(text("set local lock_timeout = '30s'"))
        connection.execute(text("select pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})


def _migrate(connection: Connection) -> None:
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    config.attributes["connection"] = connection
    command.upgrade(config, "head")
