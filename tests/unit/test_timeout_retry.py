"""Which time limits count at once, and which only after a second run in an idle pool."""

from __future__ import annotations

import signal
from dataclasses import replace

import pytest
from agnostics.sandbox.protocol import Job, JobResult, RunResult, encode
from agnostics.sandbox.timeout_retry import TimeoutRetries, needs_retry
from agnostics.sandbox.worker import QueuedJob
from agnostics.types.language import Language
from agnostics.types.verification import Verdict

JOB = Job(
    files={"a.lua": b"x"},
    compile=["cc"],
    execute=["run", "it"],
    environment={"A": "b"},
    tests=[],
    run_s=2.0,
    compile_s=10.0,
    memory_mb=64,
    compile_mb=64,
    processes=1,
    output_bytes=9,
)
LUA = Language(name="lua", prompt="", filename="main.lua", execute="luajit main.lua")


def run_of(cpu_s: float, wall_s: float, verdict: Verdict = Verdict.TIME_LIMIT, signal: int | None = None) -> RunResult:
    return RunResult(verdict, None, signal, wall_s * 1000, cpu_s * 1000, 1.0, b"", b"", False, None)


@pytest.mark.parametrize(
    ("run", "retried"),
    [
        (run_of(2.0, 2.0), False),
        (run_of(1.1, 2.0), False),
        (run_of(0.9, 2.0), True),
        (run_of(1.9, 10.1), True),
        (run_of(2.0, 10.1), False),
        (run_of(0.0, 2.0, signal=signal.SIGXCPU), False),
        (run_of(0.0, 2.0, Verdict.WRONG_ANSWER), False),
    ],
)
def test_a_time_limit_is_retried_if_the_run_used_little_processor_time(run: RunResult, *, retried: bool) -> None:
    assert needs_retry(JOB, JobResult(tests=[run_of(0.1, 0.1, Verdict.ACCEPTED), run])) is retried


def test_a_test_that_times_out_again_confirms_the_others() -> None:
    first = JobResult(tests=[run_of(0.1, 0.1, Verdict.ACCEPTED), run_of(0.0, 2.0), run_of(0.0, 2.1)])
    retries, queued = TimeoutRetries(), QueuedJob(LUA, replace(JOB, tests=[(b"1", b"a"), (b"2", b"b"), (b"3", b"c")]))
    retries.add(queued, first)
    retry = retries.start_oldest()
    assert (retry.exclusive, retry.future) == (True, queued.future)
    assert retry.frame == encode(replace(JOB, tests=[(b"2", b"b")]))
    again = run_of(0.0, 2.2)
    assert retries.end(retry, JobResult(tests=[again])) == replace(first, tests=[first.tests[0], again, first.tests[2]])


def test_after_a_test_that_does_not_time_out_again_the_whole_job_runs() -> None:
    retries, queued = TimeoutRetries(), QueuedJob(LUA, replace(JOB, tests=[(b"1", b""), (b"2", b"")]))
    retries.add(queued, JobResult(tests=[run_of(0.0, 2.0), run_of(0.0, 2.0)]))
    whole = retries.end(retries.start_oldest(), JobResult(tests=[run_of(0.1, 0.1, Verdict.ACCEPTED)]))
    assert isinstance(whole, QueuedJob)
    assert (whole.frame, whole.exclusive, retries.running) == (queued.frame, True, whole)
    result = JobResult(tests=[run_of(0.0, 2.0), run_of(0.1, 0.1, Verdict.ACCEPTED)])
    assert retries.end(whole, result) == result


def test_after_a_retry_the_next_one_waits_as_long_as_it_took(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr("agnostics.sandbox.timeout_retry.time.monotonic", lambda: now)
    retries = TimeoutRetries()
    for _ in range(2):
        retries.add(QueuedJob(LUA, replace(JOB, tests=[(b"", b"")])), JobResult(tests=[run_of(0.0, 2.0)]))
    now = 200.0
    retry = retries.start_oldest()
    now = 230.0
    retries.end(retry, JobResult(tests=[run_of(0.0, 2.0)]))
    assert retries.drain_at == 260.0


@pytest.mark.parametrize(("cpu_s", "retried"), [(9.0, False), (1.5, True)])
def test_a_compiler_is_held_to_its_own_limit(cpu_s: float, *, retried: bool) -> None:
    assert needs_retry(JOB, JobResult(compile=run_of(cpu_s, 10.0))) is retried
