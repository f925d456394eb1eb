"""`agn results prune` and `agn results backup`."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest
from agnostics import cli
from agnostics.store import CompletionRecord, Store, schema, views
from agnostics.store.database import reading
from agnostics.store.prune import prune
from agnostics.types.errors import AgnosticsError
from agnostics.types.language import Language
from agnostics.types.verification import Verdict
from sqlalchemy import Engine, func, select, text

Make = Callable[..., CompletionRecord]


@pytest.fixture
def filled(database: str, lua: Language, record: Make, episode: Make) -> Iterator[tuple[Store, list[str]]]:
    """A database with two runs that share a task and a program, and have one of each alone: an episode of two turns."""
    with Store.open(database) as store:
        runs = [
            store.start_run(kind="train", config={}, language=lua, model="m", dataset="d", seed=0) for _ in range(2)
        ]
        for run in runs:
            with store.recorder(run) as recorder:
                for name, make in (("shared", record), (run, episode)):
                    completion = make(task=name, program=f"print({name!r})" + "x" * 500)
                    measured = msgspec.structs.replace(completion.verification, metrics={"valid_trace_format": 0.5})
                    recorder.completion(msgspec.structs.replace(completion, verification=measured))
                recorder.step(1, {"reward": 0.5})
        yield store, runs


def _counts(engine: Engine) -> dict[str, int]:
    with reading(engine) as connection:
        return {
            name: connection.scalar(select(func.count()).select_from(table)) or 0
            for name, table in schema.metadata.tables.items()
        }


def test_a_pruned_run_is_gone_with_what_only_it_had(
    filled: tuple[Store, list[str]], capsys: pytest.CaptureFixture[str]
) -> None:
    store, (first, second) = filled
    url = store.engine.url.render_as_string(hide_password=False)
    before = _counts(store.engine)
    assert cli.call(["results", "prune", first, "--store", url]) == 2
    assert f"this would delete {first}; confirm with --yes" in capsys.readouterr().err
    assert _counts(store.engine) == before
    assert cli.call(["results", "prune", first, "--yes", "--json", "--store", url]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer == {"deleted": [first], "runs": 1, "completions": 2, "programs": 1, "tasks": 1}
    left = _counts(store.engine)
    of_sessions = dict.fromkeys(("agent_session", "session_problem", "session_event", "model_call"), 0)
    assert left == {**dict.fromkeys(before, 2), "language": 1, "run": 1, "step_metric": 1, **of_sessions}
    with reading(store.engine) as connection:
        assert connection.execute(text("select distinct run from verifications")).scalars().all() == [second]


def test_a_pruning_counts_in_the_singular_and_in_the_plural(
    filled: tuple[Store, list[str]], capsys: pytest.CaptureFixture[str]
) -> None:
    store, (first, second) = filled
    url = store.engine.url.render_as_string(hide_password=False)
    assert cli.call(["results", "prune", first, "--yes", "--store", url]) == 0
    assert capsys.readouterr().out == "deleted 1 run, 2 completions, 1 program, 1 task\n"
    assert cli.call(["results", "prune", second, "--yes", "--store", url]) == 0
    assert capsys.readouterr().out == "deleted 1 run, 2 completions, 2 programs, 2 tasks\n"


def test_a_run_that_is_pruned_while_it_writes_ends_and_leaves_nothing(
    filled: tuple[Store, list[str]], record: Make
) -> None:
    store, (first, _) = filled
    pruning = threading.Thread(target=prune, args=(store.engine, [first]))
    pruning.start()
    with pytest.raises(AgnosticsError, match=r"(?i)foreign key"):
        _write_on(store, first, record)
    pruning.join(timeout=60)
    left = _counts(store.engine)
    assert {left[table] for table in ("completion", "verification", "test_result", "reward")} == {2}
    assert left["run"] == 1


def _write_on(store: Store, run: str, record: Make) -> None:
    with store.recorder(run) as recorder:
        for sample in range(1_000_000):
            recorder.completion(record(Verdict.ACCEPTED if sample % 3 else Verdict.NO_PROGRAM, sample=sample))


def test_old_runs_are_pruned_by_date_and_nothing_is_deleted_without_a_name(
    filled: tuple[Store, list[str]], capsys: pytest.CaptureFixture[str]
) -> None:
    store, runs = filled
    url = store.engine.url.render_as_string(hide_password=False)
    assert cli.call(["results", "prune", "--yes", "--store", url]) == 2
    assert cli.call(["results", "prune", "--before", "2001-01-01", "--yes", "--store", url]) == 0
    assert _counts(store.engine)["run"] == 2
    assert cli.call(["results", "prune", "--before", "2999-01-01", "--yes", "--json", "--store", url]) == 0
    assert sorted(json.loads(capsys.readouterr().out.splitlines()[-1])["deleted"]) == sorted(runs)
    assert set(_counts(store.engine).values()) == {0}


def test_a_backup_made_while_a_run_writes_has_everything_committed_until_then(
    filled: tuple[Store, list[str]], record: Make, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store, (first, _) = filled
    url = store.engine.url.render_as_string(hide_password=False)
    file = tmp_path / "copy.db"
    with store.recorder(first) as recorder:
        for sample in range(2000):
            recorder.completion(record(sample=sample, step=2))
        assert cli.call(["results", "backup", str(file), "--store", url]) == 0
    assert cli.call(["results", "backup", str(file), "--store", url]) == 2
    assert "exists already" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith("copy")] == ["copy.db"]
    with Store.open(str(file), create=False) as copy, reading(copy.engine) as connection:
        kept = text("select count(*), count(completion), min(program) from verifications where step = 1")
        with reading(store.engine) as original:
            assert connection.execute(kept).one() == original.execute(kept).one()
            for view in (views.turns, views.tool_calls, views.version_spans):
                rows = select(view).where(view.c.step == 1).order_by(*list(view.columns)[:7])
                assert connection.execute(rows).all() == original.execute(rows).all()
        assert connection.exec_driver_sql("pragma foreign_key_check").all() == []
        assert connection.exec_driver_sql("pragma journal_mode").scalar_one() == "wal"
