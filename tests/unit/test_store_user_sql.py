"""The user's own SQL: read-only, and limited in time."""

from __future__ import annotations

import collections
from pathlib import Path

import pytest
from agnostics.store import Store
from agnostics.store.database import parse_url
from agnostics.store.user_sql import run_sql
from agnostics.types.errors import UsageError
from agnostics.types.language import Language
from sqlalchemy import URL

ENDLESS = "with recursive a(x) as (select 1 union all select x + 1 from a) select count(*) from a"

REFUSED = [
    "delete from run",
    "insert into program (sha256, text) values ('x', 'y')",
    "update run set model = 'x'",
    "drop table run",
    "drop view verifications",
    "create table mine (x int)",
    "create temporary table mine (x int)",
    "pragma query_only = off",
    "pragma journal_mode = delete",
    "attach database '/tmp/agn-attached.db' as other",
    "vacuum into '/tmp/agn-vacuumed.db'",
    "with x as (select 1) insert into program (sha256, text) select 'x', 'y'",
    "begin; delete from run; commit",
    "select 1; delete from run",
    "commit",
    "set default_transaction_read_only = off",
    "copy run to '/tmp/agn-copied.csv'",
    "",
    "-- nothing",
    "selec 1",
    "select * from no_such_table",
]


@pytest.fixture
def url(database: str, lua: Language) -> URL:
    with Store.open(database) as store:
        store.start_run(kind="eval", config={}, language=lua, model="100%", dataset="d", seed=0)
    return parse_url(database)


def _rows(url: URL, sql: str, seconds: float = 20) -> list[tuple[object, ...]]:
    with run_sql(url, sql, seconds=seconds) as result:
        return [tuple(row) for row in result.rows]


def test_columns_and_rows_come_back(url: URL) -> None:
    with run_sql(
        url, "select kind, model, seed as kind from run where model like '1%' or ':x' = '%s'", seconds=20
    ) as result:
        assert list(result.columns) == ["kind", "model", "kind_2"]
        assert [tuple(row) for row in result.rows] == [("eval", "100%", 0)]


def test_everything_but_reading_is_rejected_in_one_line_and_changes_nothing(url: URL) -> None:
    for sql in REFUSED:
        with pytest.raises(UsageError, match=r"^SQL: .+$") as caught:
            _rows(url, sql)
        assert "\n" not in str(caught.value)
        assert _rows(url, "select count(*), min(model), (select count(*) from program) from run") == [(1, "100%", 0)], (
            sql
        )
    assert not list(Path("/tmp").glob("agn-[acv]*ed.*"))


def test_a_query_without_end_is_stopped(url: URL) -> None:
    with pytest.raises(UsageError, match=r"no result within 0.5 s; .* --seconds"):
        _rows(url, ENDLESS, seconds=0.5)


def test_a_query_with_endless_rows_is_stopped_while_they_are_read(url: URL) -> None:
    with (
        pytest.raises(UsageError, match="no result within"),
        run_sql(url, ENDLESS.replace("count(*)", "x"), seconds=0.5) as result,
    ):
        collections.deque(result.rows, maxlen=0)
