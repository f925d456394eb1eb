"""A recorder with a writer process stores the same as one with a thread, and ends with its trainer."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from agnostics.store import CompletionRecord, Recorder, Store
from agnostics.store.database import reading
from agnostics.types.errors import AgnosticsError
from agnostics.types.language import Language
from agnostics.types.verification import CompileResult, Difference, TestResult, Verdict
from msgspec.structs import replace
from sqlalchemy import text

Make = Callable[..., CompletionRecord]

TABLES = ("task", "program", "completion", "verification", "test_result", "reward", "step_metric")
TRAINER = """
import sys, time
from agnostics.store import Store

store = Store.open(sys.argv[1])
with store.out_of_process_recorder(sys.argv[2]) as recorder:
    recorder.step(1, {"reward": 0.5})
    recorder.flush()
    print("recording", flush=True)
    time.sleep(60)
"""


@pytest.fixture
def store(database: str) -> Iterator[Store]:
    with Store.open(database) as opened:
        yield opened


def _start(store: Store, lua: Language) -> str:
    return store.start_run(kind="train", config={}, language=lua, model="m", dataset="d", seed=0)


def _eventful(record: Make) -> list[CompletionRecord]:
    """Completions of all sorts: of two tasks by turns, with and without tests, and with half of a character."""
    plain = record(Verdict.WRONG_ANSWER)
    other = plain.task.model_copy(update={"id": "other", "statement": "Half: \ud800"})
    test = TestResult(Verdict.WRONG_ANSWER, 1.5, 1.25, 3.5, 1, 9, "3\n", "\udc80", True, Difference(0, 0, "2", "3"))
    compiled = CompileResult(True, 40.0, 30.0, 20.0, 0, None, "unused variable", True)
    full = replace(plain.verification, tests=(test, test), compile=compiled, unenforced=("memory",))
    return [
        *(replace(record(program=f"print({n})"), sample=n) for n in range(25)),
        replace(plain, verification=full, task=other, reward=0.5, advantage=-1.25),
        replace(plain, reward=float("nan")),
        record(Verdict.NO_PROGRAM, program=None),
        record(program="a\0b\ud800c\N{GRINNING FACE}", task="t\0", family=None),
    ]


def _rows(store: Store, run: str) -> dict[str, list[tuple[object, ...]]]:
    """All that the database holds, but for the names of runs."""
    with reading(store.engine) as connection:
        found = {name: connection.execute(text(f"select * from {name} order by 1, 2, 3")) for name in TABLES}
        return {name: [tuple(v for v in row if v != run) for row in rows] for name, rows in found.items()}


def test_the_same_is_stored_by_a_process_as_by_a_thread(
    store: Store, lua: Language, record: Make, tmp_path: Path
) -> None:
    given = _eventful(record)
    with Store.open(str(tmp_path / "a part?50%#.db")) as here, Store.open(str(tmp_path / "here.db")) as there:
        stored = list[dict[str, list[tuple[object, ...]]]]()
        for target, open_recorder in ((here, Store.out_of_process_recorder), (there, Store.recorder)):
            run = _start(target, lua)
            with open_recorder(target, run) as recorder:
                _record(recorder, given)
            stored.append(_rows(target, run))
        assert stored[0] == stored[1]
    run = _start(store, lua)
    with store.out_of_process_recorder(run) as recorder:
        _record(recorder, given)
    assert {name: len(rows) for name, rows in _rows(store, run).items()} == {
        name: len(rows) for name, rows in stored[0].items()
    }


def _record(recorder: Recorder, given: list[CompletionRecord]) -> None:
    for completion in given:
        recorder.completion(completion)
    recorder.step(1, {"reward": 0.25, "logprob_mismatch": float("nan")})
    recorder.flush()
    recorder.step(1, {"reward": 0.5})


def test_tasks_are_sent_again_after_the_cache_is_cleared(
    tmp_path: Path, lua: Language, record: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agnostics.store.writer.process._MOST_CACHED_TASKS", 3)
    plain = record()
    tasks = [plain.task.model_copy(update={"id": f"task-{number}"}) for number in range(50)]
    with Store.open(str(tmp_path / "results.db")) as store:
        run = _start(store, lua)
        with store.out_of_process_recorder(run) as recorder:
            for _ in range(2):
                for number, task in enumerate(tasks):
                    recorder.completion(replace(plain, task=task, sample=number))
        with reading(store.engine) as connection:
            asked = connection.execute(text("select count(*) from verifications where task = 'task-' || sample"))
            assert asked.scalar_one() == 100
            assert connection.execute(text("select count(*) from task")).scalar_one() == 50


def test_an_error_of_the_process_reaches_the_caller(store: Store, record: Make) -> None:
    with (
        pytest.raises(AgnosticsError, match=r"(?i)^results database .*foreign key"),
        store.out_of_process_recorder("no") as r,
    ):
        r.completion(record())


def test_a_process_that_is_killed_is_one_clear_line_and_what_it_had_committed_stays(
    store: Store, lua: Language, record: Make
) -> None:
    run = _start(store, lua)
    said = r"^results database .*: the process that writes into it was killed by signal 9$"
    with pytest.raises(AgnosticsError, match=said):
        _record_while_signalled(store, run, record, signal.SIGKILL)
    assert len(_rows(store, run)["verification"]) == 1


def test_a_process_that_does_not_respond_is_an_error(
    tmp_path: Path, lua: Language, record: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agnostics.store.recorder.STALL_SECONDS", 0.3)
    monkeypatch.setattr("agnostics.store.writer.process.EXIT_SECONDS", 0.3)
    with Store.open(str(tmp_path / "results.db")) as store:
        run = _start(store, lua)
        with pytest.raises(AgnosticsError, match=r"no response for 0 s$"):
            _record_while_signalled(store, run, record, signal.SIGSTOP)
    assert not list(_writers_of(os.getpid()))


def _record_while_signalled(store: Store, run: str, record: Make, sent: signal.Signals) -> None:
    """Record one completion, send a signal to the process that commits, and record more than a pipe holds."""
    with store.out_of_process_recorder(run) as recorder:
        recorder.completion(record())
        recorder.flush()
        (writer,) = _writers_of(os.getpid())
        os.kill(writer, sent)
        for number in range(300):
            recorder.completion(record(program="x" * 2000 + str(number)))


@pytest.mark.parametrize("sent", [signal.SIGKILL, signal.SIGINT])
def test_a_trainer_that_ends_takes_its_writer_with_it(tmp_path: Path, lua: Language, sent: signal.Signals) -> None:
    path = str(tmp_path / "results.db")
    with Store.open(path) as store:
        run = _start(store, lua)
    command = [sys.executable, "-c", TRAINER, path, run]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as trainer:
        assert trainer.stdout is not None
        assert trainer.stdout.readline() == "recording\n"
        (writer,) = map(os.pidfd_open, _writers_of(trainer.pid))
        trainer.send_signal(sent)
        assert trainer.wait(timeout=20) == -sent
        assert select.select([writer], [], [], 20)[0], "the writer lives on"
        os.close(writer)


def _writers_of(process: int) -> Iterator[int]:
    """The children of `process` that commit."""
    for child in map(int, Path(f"/proc/{process}/task/{process}/children").read_text().split()):
        if b"agnostics.store.writer.main" in Path(f"/proc/{child}/cmdline").read_bytes():
            yield child
