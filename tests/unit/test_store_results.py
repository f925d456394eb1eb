"""The Python interface to the results database: typed rows and data frames, read-only."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import agnostics.store
import pytest
from agnostics.store import CompletionRecord, Results, Store, schema
from agnostics.store.database import reading
from agnostics.store.views import FirstSolvedRow, PassRateRow
from agnostics.types.errors import AgnosticsError, MissingRequirement, UsageError
from agnostics.types.language import Language
from agnostics.types.verification import Verdict
from sqlalchemy import Table, delete, text

ACCEPTED, WRONG = Verdict.ACCEPTED, Verdict.WRONG_ANSWER


@pytest.fixture
def results(database: str, lua: Language, record: Callable[..., CompletionRecord]) -> Iterator[Results]:
    """A database with two runs, opened to read; the second run has a story."""
    long = "-- " + "x" * 400
    with Store.open(database) as store:
        runs = [
            store.start_run(kind="train", config={}, language=lua, model=model, dataset="starter", seed=5)
            for model in ("Qwen/first", "second")
        ]
        with store.recorder(runs[1]) as recorder:
            for step, verdict in enumerate([WRONG, ACCEPTED, ACCEPTED], 1):
                recorder.completion(record(verdict, step=step, sample=step, reward=float(verdict is ACCEPTED)))
            recorder.completion(record(WRONG, step=3, task="starter/2", sample=4, program=long))
        store.finish_run(runs[1], "finished", {})
    with agnostics.store.open(database) as opened:
        yield opened


def test_rows_are_typed_filtered_and_read_anew_each_time(results: Results) -> None:
    assert [run.model for run in results.runs()] == ["second", "Qwen/first"]
    assert [run.model for run in results.runs(model="qwen", status="running")] == ["Qwen/first"]
    assert results.run().steps == 3
    accepted = results.verifications("last", verdict="accepted")
    assert [(row.step, row.verdict, row.reward) for row in accepted] == [(2, "accepted", 1.0), (3, "accepted", 1.0)]
    assert len(list(accepted)) == 2
    newest = results.verifications(verdict=["accepted", "wrong_answer"], steps=(1, 3), newest=1).first()
    assert newest
    assert newest.completion == f"```lua\n{newest.program}\n```"
    assert len(newest.program or "") == 403
    assert [(row.number, row.verdict, row.stdout) for row in results.test_results(verdict="accepted")] == [
        (1, "accepted", "2\n")
    ] * 2
    assert results.verifications("last", task="starter/3").first() is None


def test_the_views_are_rows_too(results: Results) -> None:
    run = results.run().run
    assert list(results.first_solved("last")) == [
        FirstSolvedRow(run, "starter/1", "sum", 2, 2, next(iter(results.first_solved())).completion_id)
    ]
    assert list(results.pass_rates("last", steps=(1, 2))) == [
        PassRateRow(run, "train", 1, "starter/1", "sum", 1, 0, 0.0),
        PassRateRow(run, "train", 2, "starter/1", "sum", 1, 1, 1.0),
    ]
    group = results.groups("last", steps=(2, 2)).first()
    assert group
    assert (group.programs, group.mean_reward, group.reward_std, group.distinct_programs) == (1, 1.0, 0.0, 1)
    (row,) = results.query("select verdict, count(*) as n from verifications where verdict = 'accepted' group by 1")
    assert row == {"verdict": "accepted", "n": 2}


def test_every_view_has_the_columns_of_its_rows(results: Results) -> None:
    from agnostics.store import views

    tables = {name: table for name, table in vars(views).items() if isinstance(table, Table)}
    with reading(results._engine) as connection:
        for name, table in tables.items():
            there = connection.execute(text(f"select * from {name} limit 0")).keys()
            assert list(there) == table.columns.keys(), name


def test_frames_hold_what_the_rows_hold(results: Results) -> None:
    pytest.importorskip("pandas")
    pytest.importorskip("polars")
    rows = [row.tokens for row in results.verifications("last")]
    pandas = results.verifications("last").to_pandas()
    polars = results.verifications("last").to_polars()
    assert (pandas["tokens"].tolist(), polars["tokens"].to_list()) == (rows, rows)
    assert list(pandas.columns) == polars.columns
    assert results.runs().to_polars()["model"].to_list() == ["second", "Qwen/first"]
    assert results.query("select 1 as one").to_pandas()["one"].tolist() == [1]
    assert len(results.test_results().to_pandas()) == 4


def test_without_pandas_or_polars_it_says_what_to_install(results: Results, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, frame in (("pandas", results.runs().to_pandas), ("polars", results.runs().to_polars)):
        monkeypatch.setitem(sys.modules, name, None)
        with pytest.raises(
            MissingRequirement, match=rf"^{name} is not installed; run: pip install 'agnostics\[frames\]'$"
        ):
            frame()


def test_nothing_can_be_written(results: Results) -> None:
    with pytest.raises(AgnosticsError, match=r"written to|read-only"), reading(results._engine) as connection:
        connection.execute(delete(schema.run))
    with pytest.raises(UsageError, match=r"^SQL: "):
        list(results.query("delete from run"))
    assert len(list(results.runs())) == 2


def test_a_database_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no results database at"):
        agnostics.store.open(str(tmp_path / "none.db"))
    assert not list(tmp_path.iterdir())
