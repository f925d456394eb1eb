"""The schema version of a database, and the migration to the version of this code."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Literal

from sqlalchemy import Connection, Engine, PoolProxiedConnection, inspect, text

from agnostics.store.database import display_url, reading, sqlite_path, translated_errors
from agnostics.types.errors import UsageError

MIGRATIONS = Path(__file__).parent / "migrations"
VERSION_TABLE = "agnostics_version"
_LOCK = 0x61676E  # the same number in every process


def known_versions() -> list[str]:
    """The schema versions that this code knows, oldest first."""
    return sorted(path.stem[1:5] for path in (MIGRATIONS / "versions").glob("v[0-9]*.py"))


def newest_version() -> str:
    """The schema version that this code reads and writes."""
    return known_versions()[-1]


def current_version(connection: Connection) -> str | None:
    """The version of a database, None if it is empty. Raises UsageError if it is not a results database."""
    tables = inspect(connection).get_table_names()
    if not tables:
        return None
    if VERSION_TABLE not in tables:
        raise UsageError(
            f"{display_url(connection.engine.url)} is not a results database: it holds other tables; see --store"
        )
    return connection.execute(text(f"select version_num from {VERSION_TABLE}")).scalar_one_or_none()


def require_newest(engine: Engine, version: str | None) -> None:
    """Raise UsageError, with the command to run, unless `version` is the newest one."""
    if version is None:
        raise UsageError(f"no results database at {display_url(engine.url)} yet; agn run creates one")
    if version not in known_versions():
        raise UsageError(
            f"results database {display_url(engine.url)} has schema {version}, newer than this agnostics knows "
            f"({newest_version()}); run pip install --upgrade agnostics"
        )
    if version != newest_version():
        raise UsageError(
            f"results database {display_url(engine.url)} has the old schema {version}, "
            f"not {newest_version()}; run agn db upgrade"
        )


def checked(engine: Engine, *, create: bool = False) -> Engine:
    """`engine`, with its schema checked; an absent database is created if `create` is true.

    Raises UsageError if the schema is not this code's, the database is not a results database, or it does not exist;
    the engine is then disposed of.
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
    """The version of the database behind `engine`, None if it does not exist yet. Raises as `current_version`."""
    if engine.dialect.name == "sqlite" and not sqlite_path(engine).exists():
        return None
    with reading(engine) as connection:
        return current_version(connection)


def upgrade(engine: Engine) -> None:
    """Migrate a database to the newest schema, atomically; an absent database is created.

    Raises UsageError if the database is newer than the code, or is not a results database.
    """
    before = version_of(engine)
    if before is None:
        _create_file(engine)
    with _migrating(engine) as connection:
        _lock_migrations(connection)
        version = current_version(connection)
        if version is not None and version not in known_versions():
            require_newest(engine, version)
        if version != newest_version():
            _migrate(connection)
    if before is not None and before != newest_version():
        vacuum(engine)


def _create_file(engine: Engine) -> None:
    """Create an SQLite file in WAL mode: readers and a writer work at the same time. The mode is stored in the file."""
    if engine.dialect.name != "sqlite":
        return
    with translated_errors(engine.url):
        sqlite_path(engine).parent.mkdir(parents=True, exist_ok=True)
    with translated_errors(engine.url), closing(engine.raw_connection()) as connection:
        _run_outside_transaction(connection, "pragma journal_mode = wal")


def vacuum(engine: Engine) -> None:
    """Free the space of deleted rows, in SQLite; Postgres does so itself."""
    if engine.dialect.name == "sqlite":
        with translated_errors(engine.url), closing(engine.raw_connection()) as connection:
            _run_outside_transaction(connection, "vacuum")


@contextmanager
def _migrating(engine: Engine) -> Iterator[Connection]:
    """A write transaction with foreign keys off in SQLite: a table can be recreated without deleting its children."""
    with translated_errors(engine.url), engine.connect().execution_options(writes=True) as connection:
        _set_foreign_keys(connection, "off")
        try:
            with connection.begin():
                yield connection
        finally:
            _set_foreign_keys(connection, "on")


def _set_foreign_keys(connection: Connection, state: Literal["on", "off"]) -> None:
    if connection.dialect.name == "sqlite":
        _run_outside_transaction(connection.connection, f"pragma foreign_keys = {state}")


def _run_outside_transaction(connection: PoolProxiedConnection, statement: str) -> None:
    """Run a statement that SQLite rejects within a transaction."""
    driver = connection.driver_connection
    assert driver is not None
    driver.execute(statement)


def _lock_migrations(connection: Connection) -> None:
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
