"""Creation and migration of a results database, and the rejection of others."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from agnostics.store import CompletionRecord, Store, default_url, schema, version
from agnostics.store.database import connect, parse_url, reading, writing
from agnostics.types.errors import AgnosticsError, UsageError
from agnostics.types.language import Language
from sqlalchemy import text

NOW = version.newest_version()
THEN = f"{int(NOW) + 1:04}"
NEXT = f"""
import sqlalchemy as sa
from alembic import op

revision = "{THEN}"
down_revision = "{NOW}"


def upgrade():
    op.add_column("program", sa.Column("note", sa.Text))
"""


def _set_version(url: str, number: str) -> None:
    engine = connect(parse_url(url))
    with writing(engine) as connection:
        connection.execute(text("update agnostics_version set version_num = :number"), {"number": number})
    engine.dispose()


@pytest.fixture
def migrations(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the migrations, to which a test may add the next one."""
    copy = tmp_path / "100% ours"
    shutil.copytree(version.MIGRATIONS, copy)
    monkeypatch.setattr(version, "MIGRATIONS", copy)
    return copy / "versions"


def test_the_migrations_make_the_tables_that_the_code_writes_to(database: str) -> None:
    from alembic.autogenerate import compare_metadata
    from alembic.migration import MigrationContext

    with Store.open(database) as store, reading(store.engine) as connection:
        sqlite = store.engine.dialect.name == "sqlite"

        def meant(item: Any, _name: str | None, _kind: str, found: bool, _other: Any) -> bool:
            """Alembic does not see which references are for SQLite only."""
            return found or sqlite or getattr(item, "column_keys", None) != ["completion_id"]

        options = {"version_table": version.VERSION_TABLE, "compare_type": True, "include_object": meant}
        differences = compare_metadata(MigrationContext.configure(connection, opts=options), schema.metadata)
    assert differences == []


def test_an_old_database_is_refused_until_it_is_upgraded_and_keeps_its_rows(
    database: str, migrations: Path, lua: Language, record: Callable[..., CompletionRecord]
) -> None:
    with Store.open(database) as store:
        run = store.start_run(kind="train", config={}, language=lua, model="m", dataset="d", seed=0)
        with store.recorder(run) as recorder:
            recorder.completion(record())
    (migrations / f"v{THEN}_next.py").write_text(NEXT)
    with pytest.raises(UsageError, match=f"old schema {NOW}, not {THEN}; run agn db upgrade"):
        Store.open(database)
    engine = connect(parse_url(database))
    version.upgrade(engine)
    version.upgrade(engine)
    with reading(engine) as connection:
        rows = connection.execute(text("select p.text, p.note, v.verdict from program p, verifications v")).all()
    engine.dispose()
    assert [tuple(row) for row in rows] == [("print(2)", None, "accepted")]
    Store.open(database).close()


def test_an_upgrade_that_fails_leaves_the_old_database_whole(database: str, migrations: Path) -> None:
    Store.open(database).close()
    (migrations / f"v{THEN}_next.py").write_text(f"{NEXT}    op.execute('select no_such_column from run')\n")
    engine = connect(parse_url(database))
    with pytest.raises(AgnosticsError, match="no_such_column"):
        version.upgrade(engine)
    with reading(engine) as connection:
        assert version.current_version(connection) == NOW
        assert "note" not in connection.execute(text("select * from program")).keys()  # noqa: SIM118
    engine.dispose()


def test_a_database_of_a_newer_version_is_refused_by_open_and_by_upgrade(database: str) -> None:
    Store.open(database).close()
    _set_version(database, "9999")
    with pytest.raises(UsageError, match=r"schema 9999, newer than .* pip install --upgrade agnostics"):
        Store.open(database)
    with pytest.raises(UsageError, match="newer"):
        version.upgrade(connect(parse_url(database)))


def test_a_database_of_another_application_is_rejected_and_unchanged(tmp_path: Path) -> None:
    path = tmp_path / "places.db"
    connection = sqlite3.connect(path)
    connection.execute("create table bookmark (url text)")
    connection.close()
    before = path.read_bytes()
    with pytest.raises(UsageError, match="not a results database"):
        Store.open(f"sqlite:///{path}")
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["places.db"]


def test_a_file_that_is_no_database_is_refused_in_one_line(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("buy milk\n" * 200)
    with pytest.raises(AgnosticsError, match="not a results database") as caught:
        Store.open(str(path))
    assert "\n" not in str(caught.value)


def test_reading_does_not_make_a_database(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no results database at"):
        Store.open(f"sqlite:///{tmp_path}/none.db", create=False)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("url", "complaint"),
    [
        ("sqlite://", "name a file"),
        ("sqlite:///:memory:", "name a file"),
        ("mysql://root@host/db", "'mysql' is not supported"),
        ("://", "not a database URL"),
        ("postgresql://u:secret@/none?host=/nonexistent", "results database postgresql"),
        ("sqlite:////proc/nowhere/x.db", "/proc/nowhere"),
    ],
)
def test_a_url_that_leads_nowhere_is_one_clear_line(url: str, complaint: str) -> None:
    with pytest.raises(AgnosticsError, match=complaint) as caught:
        Store.open(url)
    assert "\n" not in str(caught.value)
    assert "secret" not in str(caught.value)


def test_the_default_database_is_in_the_data_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert default_url() == f"sqlite:///{tmp_path}/agnostics/agnostics.db"
    Store.open(default_url()).close()
    assert (tmp_path / "agnostics" / "agnostics.db").exists()
