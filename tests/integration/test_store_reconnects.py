"""A run goes on when its database goes away for a while, and every verification is stored once."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from agnostics.store import CompletionRecord, Recorder, Store
from agnostics.store.database import reading
from agnostics.types.errors import AgnosticsError, MissingRequirement
from agnostics.types.language import Language
from agnostics_benchmarks.postgres import Server, postgres_server
from sqlalchemy import Connection, event, text

Make = Callable[..., CompletionRecord]
Open = Callable[[Store, str], AbstractContextManager[Recorder]]
Locked = tuple[Store, str, "subprocess.Popen[str]"]
pytestmark = pytest.mark.slow

LOCKER = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("begin immediate")
print("locked", flush=True)
sys.stdin.read()
"""


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """A PostgreSQL server that may be killed, and keeps what it has committed."""
    try:
        with postgres_server(fsync=True) as server:
            yield server
    except MissingRequirement as error:
        pytest.skip(str(error))


def _start(store: Store, lua: Language) -> str:
    return store.start_run(kind="train", config={}, language=lua, model="m", dataset="d", seed=0)


def _stored(store: Store, run: str) -> tuple[int, int]:
    """How many verifications of `run` there are, and how many different ones."""
    with reading(store.engine) as connection:
        query = text("select count(*), count(distinct step) from verification where run_id = :run")
        count, different = connection.execute(query, {"run": run}).one()
        return count, different


def _record(recorder: Recorder, record: Make, numbers: range) -> None:
    for number in numbers:
        recorder.completion(record(step=number, program=f"print({number % 700})"))


@pytest.mark.parametrize("open_recorder", [Store.recorder, Store.out_of_process_recorder])
def test_a_server_that_is_killed_while_a_run_writes_and_comes_back_has_everything_once(
    server: Server, lua: Language, record: Make, monkeypatch: pytest.MonkeyPatch, open_recorder: Open
) -> None:
    monkeypatch.setattr("agnostics.store.recorder.BATCH_ROWS", 300)
    monkeypatch.setattr("agnostics.store.recorder.QUEUE_ROWS", 600)
    with Store.open(server.url) as store, Store.open(server.url) as other:
        run = _start(store, lua)
        with open_recorder(store, run) as recorder:
            feeder = threading.Thread(target=_record, args=(recorder, record, range(3000)), daemon=True)
            feeder.start()
            while _stored(other, run)[0] < 600:  # and then it is in the middle of the next batch
                assert feeder.is_alive()
            server.kill()
            server.start()
            feeder.join(timeout=60)
            recorder.flush()
        assert _stored(store, run) == (3000, 3000)
        store.finish_run(run, "finished", {})


def test_a_commit_whose_acknowledgement_is_lost_is_not_repeated(server: Server, lua: Language, record: Make) -> None:
    commits = []

    def lose(connection: Connection) -> None:
        commits.append(connection)
        driver = connection.connection.driver_connection
        assert driver is not None
        driver.commit()
        if len(commits) in {1, 3}:  # numbers are reserved, and reserved again; then the batch is written
            driver.close()

    with Store.open(server.url) as store:
        run = _start(store, lua)
        event.listen(store.engine, "commit", lose)
        with store.recorder(run) as recorder:
            _record(recorder, record, range(100))
            recorder.step(1, {"reward": 0.5})
        assert len(commits) == 4
        assert _stored(store, run) == (100, 100)


def test_a_server_that_is_killed_before_a_commit_reuses_no_id(server: Server, lua: Language, record: Make) -> None:
    commits = []

    def kill(connection: Connection) -> None:
        commits.append(connection)
        if len(commits) == 2:
            server.kill()
            server.start()

    with Store.open(server.url) as store:
        run = _start(store, lua)
        event.listen(store.engine, "commit", kill)
        with store.recorder(run) as recorder:
            for numbers in (range(100), range(100, 300)):
                _record(recorder, record, numbers)
                recorder.flush()
        assert _stored(store, run) == (300, 300)


def test_a_server_that_stays_away_is_one_clear_line_and_the_run_can_be_resumed(
    server: Server, lua: Language, record: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agnostics.store.writer.batch.RETRY_SECONDS", 0.5)
    with Store.open(server.url) as store:
        run = _start(store, lua)
        with pytest.raises(AgnosticsError, match=r"^results database postgresql.*; gave up after 0.5 s$") as caught:
            _record_while_killed(store.recorder(run), record, server)
        assert "\n" not in str(caught.value)
        server.start()
        store.resume_run(run, 1)
        with store.recorder(run) as recorder:
            _record(recorder, record, range(2, 5))
        assert _stored(store, run) == (5, 5)


def _record_while_killed(recorder: Recorder, record: Make, server: Server) -> None:
    with recorder:
        _record(recorder, record, range(3))
        recorder.flush()
        server.kill()
        _record(recorder, record, range(3, 6))


@pytest.fixture
def locked(tmp_path: Path, lua: Language, monkeypatch: pytest.MonkeyPatch) -> Iterator[Locked]:
    """An SQLite database, a run in it and the process that has locked it, for which nobody waits long."""
    monkeypatch.setattr("agnostics.store.database.BUSY_TIMEOUT_S", 0.1)
    path = str(tmp_path / "results.db")
    with Store.open(path) as store:
        run = _start(store, lua)
        command = [sys.executable, "-c", LOCKER, path]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as locker:
            assert locker.stdout is not None
            assert locker.stdout.readline() == "locked\n"
            yield store, run, locker


def test_a_file_that_another_process_has_locked_is_waited_for(
    locked: Locked, record: Make, caplog: pytest.LogCaptureFixture
) -> None:
    store, run, locker = locked
    with store.recorder(run) as recorder:
        _record(recorder, record, range(10))
        while "trying again" not in caplog.text:
            assert recorder._thread.is_alive()
        locker.communicate(timeout=20)
    assert _stored(store, run) == (10, 10)


def test_a_file_that_stays_locked_is_one_clear_line(
    locked: Locked, record: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agnostics.store.writer.batch.RETRY_SECONDS", 0.3)
    store, run, _ = locked
    with (
        pytest.raises(
            AgnosticsError,
            match=r"^results database .* has kept it locked for 30 s; gave up after 0.3 s$",
        ),
        store.recorder(run) as recorder,
    ):
        _record(recorder, record, range(10))
