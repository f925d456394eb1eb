"""Migration from the first schema to the newest: every row becomes what would be written today."""

from __future__ import annotations

import math
import shutil
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest
from agnostics.store import CompletionRecord, Store, schema, version, views
from agnostics.store.database import connect, parse_url, reading, writing
from agnostics.store.records import sanitize
from agnostics.types.errors import AgnosticsError
from agnostics.types.language import Language
from agnostics.types.verification import CompileResult, Difference, TestResult, Verdict
from msgspec.structs import replace
from sqlalchemy import Connection, Engine, MetaData, insert, select, text

Make = Callable[..., CompletionRecord]
OF_EPISODES = ("turn", "tool_call", "version_span", "completion_metric")
"""The tables that no old database has, and single answers without metrics have no rows in."""
OF_SESSIONS = ("agent_session", "session_problem", "session_event", "model_call")
"""The tables that no old database has, and runs have no rows in."""
_OLD_KEYS = {"prompt_format": "stitch"}


def _stories(record: Make) -> list[CompletionRecord]:
    """Completions of every shape: hostile, long, cut, without a program, with one that the text does not contain."""
    plain = record(reward=0.5)
    wrong = TestResult(
        Verdict.WRONG_ANSWER, 1.23, 0.5, 3.25, 1, 9, "7 " * 900, "é\0\ud800", True, Difference(0, 0, "2", "7")
    )
    failed = CompileResult(False, 40.5, 30.25, 20.5, 1, None, "error: no such thing\n" * 50, True)
    outcome = plain.verification
    completions = [
        plain,
        record(program="print(2)\0\ud800\N{GRINNING FACE}", family=None),
        record(Verdict.NO_PROGRAM),
        record(program=""),
        replace(plain, text="print(2) and again print(2)"),
        replace(plain, text="it was rewritten"),
        replace(plain, verification=replace(outcome, tests=(wrong, wrong), verdict=wrong.verdict)),
        replace(plain, verification=replace(outcome, tests=(), compile=failed, error="x" * 500)),
    ]
    return [replace(completion, sample=sample) for sample, completion in enumerate(completions)]


def _write(url: str, lua: Language, records: list[CompletionRecord]) -> Engine:
    """A database with the newest schema at `url` that holds `records`."""
    with Store.open(url) as store:
        run = store.start_run(kind="train", config={"a": None}, language=lua, model="m", dataset="d", seed=0)
        with store.recorder(run) as recorder:
            for one in records:
                recorder.completion(one)
            recorder.step(1, {"reward": 0.5, "logprob_mismatch": math.nan})
        return store.engine


def _first_schema(url: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Engine:
    """An empty database as the first schema leaves it."""
    shutil.copytree(version.MIGRATIONS, first := tmp_path / "first")
    for later in (first / "versions").glob("v000[2-9]*.py"):
        later.unlink()
    engine = connect(parse_url(url))
    with monkeypatch.context() as patch:
        patch.setattr(version, "MIGRATIONS", first)
        version.upgrade(engine)
    return engine


def _copy_as_it_was(new: Engine, old: Engine, records: list[CompletionRecord]) -> None:
    """Write the rows of `new` in the form of the first schema, which stored the whole text of a completion."""
    with reading(new) as source, writing(old) as target:
        (before := MetaData()).reflect(target)
        belongs = {row["completion_id"]: _place(row) for row in source.execute(select(schema.verification)).mappings()}
        for table in before.sorted_tables:
            now = schema.metadata.tables.get(table.name)
            for row in [] if now is None else source.execute(select(now)).mappings():
                target.execute(insert(table).values(_as_it_was(dict(row), records, belongs)))


def _place(row: Mapping[Any, Any]) -> dict[str, Any]:
    return {name: row[name] for name in ("run_id", "phase", "step", "task_id")}


def _as_it_was(
    row: dict[str, Any], records: list[CompletionRecord], belongs: Mapping[int, dict[str, Any]]
) -> dict[str, Any]:
    if "family" in row:
        row["kind"] = row.pop("family")
        row["definition"] = {_OLD_KEYS.get(key, key): value for key, value in row["definition"].items()}
    if row.get("name") == "logprob_mismatch":
        row["name"] = "gap"
    if "sha256" in row:
        row["sha256"] = (row["sha256"] + bytes(16)).hex()
    if "sample" in row:
        row |= {**belongs[row["id"]], "text": sanitize(records[row["sample"]].text), "before": None, "after": None}
    if "number" in row:
        row |= {"wall_ms": row.pop("wall_us") / 1000, "cpu_ms": row.pop("cpu_us") / 1000}
        row["peak_mb"] = row.pop("peak_kb") / 1024
    return {name: value for name, value in row.items() if value is not None}


def _rows(engine: Engine, tables: Iterable[str]) -> dict[str, list[Any]]:
    """Every row as the driver gives it, in order."""
    with reading(engine) as connection:
        return {name: _raw(connection, name) for name in tables}


def _raw(connection: Connection, name: str) -> list[Any]:
    rows = connection.exec_driver_sql(f"select * from {name}").mappings()
    return sorted((sorted(row.items()) for row in rows), key=repr)


def test_rows_of_the_first_schema_become_what_would_be_written_today(
    databases: Callable[[], str], lua: Language, record: Make, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    records = _stories(record)
    new, old = _write(databases(), lua, records), _first_schema(databases(), monkeypatch, tmp_path)
    _copy_as_it_was(new, old, records)
    version.upgrade(old)
    names = [*schema.metadata.tables, *views.NAMES]
    expected = _rows(new, names)
    assert _rows(old, names) == expected
    assert {name for name, rows in expected.items() if not rows} == {
        *OF_EPISODES,
        *OF_SESSIONS,
        "tool_calls",
        "completion_metrics",
    }
    with reading(old) as connection:
        stored = connection.execute(text("select completion from verifications order by sample")).scalars().all()
        assert stored == [sanitize(one.text) for one in records]
        if old.dialect.name == "sqlite":
            assert connection.exec_driver_sql("pragma foreign_key_check").all() == []
            assert connection.exec_driver_sql("pragma foreign_keys").scalar_one() == 1


def test_an_upgrade_that_fails_at_its_end_leaves_the_first_schema_and_its_rows(
    databases: Callable[[], str], lua: Language, record: Make, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    records = _stories(record)
    new, old = _write(databases(), lua, records), _first_schema(databases(), monkeypatch, tmp_path)
    _copy_as_it_was(new, old, records)
    tables = schema.metadata.tables.keys() - {*OF_EPISODES, *OF_SESSIONS}
    before = _rows(old, tables)
    shutil.copytree(version.MIGRATIONS, broken := tmp_path / "broken")
    second = broken / "versions" / "v0002_smaller_rows.py"
    second.write_text(second.read_text().replace("create view groups", "create view groups on the moon"))
    monkeypatch.setattr(version, "MIGRATIONS", broken)
    with pytest.raises(AgnosticsError, match="syntax error"):
        version.upgrade(old)
    assert _rows(old, tables) == before
    assert version.version_of(old) == "0001"
