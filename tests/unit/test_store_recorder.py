"""A run's recorder: everything is stored once, soon, and reads back unchanged."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from agnostics.store import CompletionRecord, Recorder, Store
from agnostics.store.database import reading
from agnostics.types.errors import AgnosticsError, UsageError
from agnostics.types.language import Language
from agnostics.types.verification import CompileResult, Difference, TestResult, Verdict
from msgspec.structs import replace
from sqlalchemy import text

Make = Callable[..., CompletionRecord]


@pytest.fixture
def store(database: str) -> Iterator[Store]:
    with Store.open(database) as opened:
        yield opened


@pytest.fixture
def run(store: Store, lua: Language) -> str:
    return _start(store, lua)


def _start(store: Store, lua: Language) -> str:
    config = {"train": {"lr": 2e-4, "clip": math.inf}, "name": "a\0b"}
    return store.start_run(kind="train", config=config, language=lua, model="m", dataset="starter", seed=1 << 40)


def _ask(store: Store, sql: str) -> list[tuple[Any, ...]]:
    with reading(store.engine) as connection:
        return [tuple(row) for row in connection.execute(text(sql))]


def test_every_completion_is_counted_by_verdict(store: Store, run: str, record: Make) -> None:
    given = [Verdict.ACCEPTED] * 3 + [Verdict.WRONG_ANSWER] * 700 + [Verdict.NO_PROGRAM] * 2 + [Verdict.SANDBOX_ERROR]
    with store.recorder(run) as recorder:
        for sample, verdict in enumerate(given):
            recorder.completion(record(verdict, sample=sample, program=f"print({sample})"))
    counts = dict(_ask(store, "select verdict, count(*) from verification group by verdict"))
    assert counts == {"accepted": 3, "wrong_answer": 700, "no_program": 2, "sandbox_error": 1}
    assert _ask(store, "select sample from verifications order by completion_id") == [(i,) for i in range(len(given))]
    mismatched = "select count(*) from verifications where program <> 'print(' || sample || ')'"
    assert _ask(store, mismatched) == [(0,)]


def test_a_program_and_a_task_are_stored_once_however_often_they_come(store: Store, run: str, record: Make) -> None:
    for _ in range(2):
        with store.recorder(run) as recorder:
            for sample in range(20):
                recorder.completion(record(sample=sample))
    counts = {name: _ask(store, f"select count(*) from {name}")[0][0] for name in ("task", "program", "verification")}
    assert counts == {"task": 1, "program": 1, "verification": 40}


def test_tasks_of_one_name_and_other_tests_are_kept_apart(store: Store, run: str, record: Make) -> None:
    first = record()
    other = replace(first, task=first.task.model_copy(update={"statement": "Subtract."}))
    with store.recorder(run) as recorder:
        recorder.completion(first)
        recorder.completion(other)
    statements = "select statement from verification v join task t on t.id = v.task_id order by completion_id"
    assert _ask(store, statements) == [("Add.",), ("Subtract.",)]


def test_every_field_of_a_verification_is_stored(store: Store, run: str, record: Make) -> None:
    plain = record(Verdict.WRONG_ANSWER)
    test = TestResult(Verdict.WRONG_ANSWER, 1.5, 1.25, 3.5, 1, 9, "3\n", "warn", True, Difference(0, 0, "2", "3"))
    compiled = CompileResult(True, 40.0, 30.0, 20.0, 0, None, "unused variable", True)
    outcome = replace(plain.verification, tests=(test, test), compile=compiled, unenforced=("memory",))
    with store.recorder(run) as recorder:
        recorder.completion(replace(plain, verification=outcome, reward=0.5, advantage=-1.25))
    columns = "number, verdict, wall_ms, cpu_ms, peak_mb, exit_code, signal, stdout, stderr, truncated"
    assert [(*row[:9], bool(row[9])) for row in _ask(store, f"select {columns} from test_results order by number")] == [
        (number, "wrong_answer", 1.5, 1.25, 3.5, 1, 9, "3\n", "warn", True) for number in (1, 2)
    ]
    assert _ask(store, "select reward, advantage, compile_message from verifications") == [
        (0.5, -1.25, "unused variable")
    ]
    assert _ask(store, "select compile_wall_ms, compile_peak_mb, compile_signal, error from verification") == [
        (40.0, 20.0, None, None)
    ]


def test_hostile_text_is_stored_where_it_can_be_read(store: Store, run: str, record: Make) -> None:
    program = "a\0b\ud800c\N{GRINNING FACE}'; drop table run; --"
    with store.recorder(run) as recorder:
        recorder.completion(record(program=program, task="t\0", family=None))
    readable = "a\N{SYMBOL FOR NULL}b\N{REPLACEMENT CHARACTER}c\N{GRINNING FACE}'; drop table run; --"
    assert _ask(store, "select task, program, completion from verifications") == [
        ("t\N{SYMBOL FOR NULL}", readable, f"```lua\n{readable}\n```")
    ]


def test_flush_makes_all_that_came_before_visible_to_others(
    store: Store, run: str, record: Make, database: str
) -> None:
    with store.recorder(run) as recorder, Store.open(database) as other:
        for count in (1, 2):
            recorder.completion(record())
            recorder.flush()
            assert _ask(other, "select count(*) from verification") == [(count,)]


def test_metrics_of_a_step_are_merged_and_a_repeated_one_is_replaced(store: Store, run: str) -> None:
    with store.recorder(run) as recorder:
        recorder.step(1, {"reward": 0.25, "gap": math.nan})
        recorder.flush()
        recorder.step(1, {"reward": 0.5})
        recorder.step(1, {"entropy": 1})
    assert _ask(store, "select step, name, value from step_metric order by name") == [
        (1, "entropy", 1.0),
        (1, "gap", None),
        (1, "reward", 0.5),
    ]


def test_resuming_deletes_rows_after_the_checkpoint_and_nothing_else(
    store: Store, run: str, lua: Language, record: Make
) -> None:
    other = _start(store, lua)
    for name in (run, other):
        with store.recorder(name) as recorder:
            for step, phase in [(0, "eval_before"), (1, "train"), (2, "train"), (2, "eval_after"), (3, "train")]:
                recorder.completion(record(step=step, phase=phase))
                recorder.step(step, {"reward": 1.0, "eval_after_pass_at_1": 0.5})
    store.finish_run(run, "interrupted", {})
    store.resume_run(run, 2)
    kept = f"select phase, step from verification where run_id = '{run}' order by step"
    assert _ask(store, kept) == [("eval_before", 0), ("train", 1), ("train", 2)]
    assert _ask(store, f"select step, name from step_metric where run_id = '{run}' and step >= 2") == [(2, "reward")]
    for table in ("completion", "verification", "test_result", "reward"):
        assert _ask(store, f"select count(*) from {table}") == [(3 + 5,)]
    assert _ask(store, f"select status, finished_at from run where id = '{run}'") == [("running", None)]
    store.resume_run(run, -1)
    assert _ask(store, kept) == []


@pytest.mark.parametrize("measured", [True, False])
def test_resuming_keeps_an_evaluation_that_the_checkpoint_includes(
    store: Store, run: str, record: Make, measured: bool
) -> None:
    with store.recorder(run) as recorder:
        for step in (1, 2):
            recorder.completion(record(step=step, phase="eval_during"))
            recorder.step(step, {"eval_during_pass_at_1": 0.5})
    store.resume_run(run, 2, measured=measured)
    expected = [(1,), (2,)] if measured else [(1,)]
    assert _ask(store, "select step from verification order by step") == expected
    assert _ask(store, "select step from step_metric order by step") == expected


def test_the_end_of_a_run_is_stored(store: Store, run: str) -> None:
    store.finish_run(run, "finished", {"pass_at_1_after": 0.5, "interval_after": (0.4, math.nan)})
    assert _ask(store, "select status from run where finished_at is not null") == [("finished",)]


def test_an_unknown_run_is_refused_with_the_nearest_name(store: Store, run: str) -> None:
    with pytest.raises(UsageError, match=f"did you mean '{run}'"):
        store.finish_run(run[:-1], "finished", {})


def _record_nowhere(recorder: Recorder, record: CompletionRecord, then: type[BaseException] | None) -> None:
    with recorder:
        recorder.completion(record)
        if then:
            raise then


def test_an_error_of_the_writer_reaches_the_caller_and_ends_the_thread(store: Store, record: Make) -> None:
    recorder = store.recorder("no-such-run")
    with pytest.raises(AgnosticsError, match=r"(?i)foreign key"):
        _record_nowhere(recorder, record(), None)
    assert not recorder._thread.is_alive()
    for call in (lambda: recorder.completion(record()), lambda: recorder.step(1, {"x": 1.0})):
        with pytest.raises(AgnosticsError, match=r"(?i)foreign key"):
            call()


def test_an_error_in_the_block_is_the_one_that_is_raised(store: Store, record: Make) -> None:
    with pytest.raises(KeyboardInterrupt):
        _record_nowhere(store.recorder("no-such-run"), record(), KeyboardInterrupt)
