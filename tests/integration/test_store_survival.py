"""The state of the database after a process dies, the disk fills or many write at once."""

from __future__ import annotations

import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from agnostics.store import CompletionRecord, Store
from agnostics.store.database import reading
from agnostics.types.language import Language
from sqlalchemy import text

Make = Callable[..., CompletionRecord]

MANY = str(10**9)
WRITER = """
import sys
from agnostics.types.errors import AgnosticsError
from agnostics.types.language import Language
from agnostics.store import CompletionRecord, Store
from agnostics.types.task import Task, Test
from agnostics.types.verification import TestResult, Verdict, Verification

lua = Language(name="lua", prompt="", filename="main.lua", execute="luajit main.lua")
task = Task(id="t", tests=(Test(input="", output=""),))
store = Store.open(sys.argv[1])
run = store.start_run(kind="train", config={}, language=lua, model="m", dataset="d", seed=0)
flushed = 0
try:
    with getattr(store, sys.argv[3])(run) as recorder:
        for number in range(int(sys.argv[2])):
            program = f"print({number})" + "x" * 500
            test = TestResult(Verdict.ACCEPTED)
            outcome = Verification("t", "lua", program, Verdict.ACCEPTED, (test,), None, "process", 1, 1.0)
            recorder.completion(CompletionRecord(number, "train", task, 0, program, 1, "stop", 0, outcome))
            if number % 100 == 99:
                recorder.flush()
                flushed = number + 1
                print(flushed, flush=True)
except AgnosticsError as error:
    print(f"error {flushed} {error}", flush=True)
    with store.engine.connect() as connection:
        stored = "select count(*), count(distinct step) from verification"
        print("stored", *connection.exec_driver_sql(stored).one(), flush=True)
        print(connection.exec_driver_sql("pragma integrity_check").scalar(), flush=True)
"""

# One interpreter that forks: sixteen would take longer to start than to write.
SIXTEEN = """
import os, sys, traceback
import agnostics.store, sqlalchemy.dialects.sqlite
code, sys.argv = sys.argv[1], sys.argv[1:]
sys.stdout = open(os.devnull, "w")
for _ in range(16):
    if os.fork() == 0:
        try:
            exec(code, {})
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
sys.exit(any([os.wait()[1] for _ in range(16)]))
"""


@pytest.mark.parametrize("recorder", ["recorder", "out_of_process_recorder"])
def test_a_killed_process_leaves_all_it_had_committed_and_no_half_of_a_batch(database: str, recorder: str) -> None:
    command = [sys.executable, "-c", WRITER, database, MANY, recorder]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    committed = 0
    while committed < 1000:
        committed = int(process.stdout.readline())
    process.kill()
    rest = process.stdout.read().split()
    assert process.wait(timeout=20) == -signal.SIGKILL
    committed = int(rest[-1]) if rest else committed
    with Store.open(database) as store, reading(store.engine) as connection:
        tables = ("completion", "verification", "test_result", "reward", "program")
        counts = {name: connection.execute(text(f"select count(*) from {name}")).scalar_one() for name in tables}
        steps = connection.execute(text("select count(distinct step), max(step) + 1 from verification")).one()
    assert len(set(counts.values())) == 1, counts
    assert tuple(steps) == (counts["completion"],) * 2
    assert counts["completion"] >= committed
    if database.startswith("sqlite"):
        assert sqlite3.connect(database.removeprefix("sqlite:///")).execute("pragma integrity_check").fetchone() == (
            "ok",
        )


@pytest.mark.parametrize("recorder", ["recorder", "out_of_process_recorder"])
def test_a_full_disk_is_one_clear_error_and_what_was_committed_stays(recorder: str) -> None:
    small_disk = ["unshare", "--map-root-user", "--mount", "sh", "-c"]
    small_disk += ['mount -t tmpfs -o size=3m tmpfs /mnt && exec "$@"', "sh"]
    command = [*small_disk, sys.executable, "-c", WRITER, "sqlite:////mnt/results.db", MANY, recorder]
    answer = subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=60, check=True)
    *_, error, stored, integrity = answer.stdout.splitlines()
    _, committed, message = error.split(maxsplit=2)
    assert message.startswith("results database sqlite:////mnt/results.db: the disk is full; free some space")
    rows, distinct = map(int, stored.split()[1:])
    assert rows == distinct >= int(committed) > 0
    assert integrity == "ok"


@pytest.mark.slow
def test_sixteen_processes_that_make_one_database_and_write_at_once_lose_nothing(database: str) -> None:
    subprocess.run([sys.executable, "-c", SIXTEEN, WRITER, database, "300", "recorder"], check=True, timeout=100)
    with Store.open(database, create=False) as store, reading(store.engine) as connection:
        per_run = text("select count(*), count(distinct step) from verification group by run_id")
        assert [tuple(row) for row in connection.execute(per_run)] == [(300, 300)] * 16
        assert connection.execute(text("select count(*) from program")).scalar_one() == 300


def _start(store: Store, lua: Language) -> str:
    return store.start_run(kind="train", config={}, language=lua, model="m", dataset="d", seed=0)


def test_a_reader_sees_a_whole_state_while_a_recorder_writes(database: str, lua: Language, record: Make) -> None:
    with Store.open(database) as store, Store.open(database, create=False) as other:
        run = _start(store, lua)
        with store.recorder(run) as recorder, reading(other.engine) as connection:
            before = connection.execute(text("select count(*) from verification")).scalar_one()
            recorder.completion(record())
            recorder.flush()
            assert before == 0
        with reading(other.engine) as connection:
            assert connection.execute(text("select count(*) from verification")).scalar_one() == 1


def test_a_caller_faster_than_the_database_waits_and_nothing_is_dropped(
    tmp_path: Path, lua: Language, record: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agnostics.store.recorder.QUEUE_ROWS", 500)
    with Store.open(str(tmp_path / "results.db")) as store:
        run = _start(store, lua)
        with store.recorder(run) as recorder:
            for number in range(6000):
                recorder.completion(record(sample=number))
                assert len(recorder._queue) <= 500
        with reading(store.engine) as connection:
            assert connection.execute(text("select count(distinct sample) from completion")).scalar_one() == 6000
