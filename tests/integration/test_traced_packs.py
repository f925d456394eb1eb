"""The packs' tracers in the sandbox, in both modes: what programs print and write is there, and is as it should be."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from agnostics.plugins.manager import load_plugins
from agnostics.traces.runner import TraceRunner
from agnostics.types.verification import Verdict

TRACED = sorted(name for name, language in load_plugins().languages().items() if language.trace)


@pytest.fixture(scope="module", params=TRACED)
def runner(request: pytest.FixtureRequest, mode: str) -> Iterator[TraceRunner]:
    with TraceRunner(load_plugins().language(request.param), mode) as runner:
        yield runner


def test_the_packs_trace_their_languages() -> None:
    assert {"lua", "fortran", "brainfuck", "befunge98-standard", "unlambda"} <= set(TRACED)


def test_a_contract_program_is_traced(runner: TraceRunner) -> None:
    run = runner.run(load_plugins().language(runner.language).contract["sum"], "3 4\n")
    assert run.trace is not None, (run.error, run.stderr)
    assert (run.verdict, run.stdout.split()) == (Verdict.ACCEPTED, [b"7"])
    assert {event.kind for event in run.trace.events} >= {"call", "line"}
    assert run.trace.ended == "complete"


def test_a_program_that_fails_ends_with_an_exception(runner: TraceRunner) -> None:
    if runner.language.startswith(("unlambda", "befunge98-standard")):
        pytest.skip("has no errors at run time")
    run = runner.run(load_plugins().language(runner.language).contract["crash"])
    assert run.trace is not None, run.error
    assert run.verdict is Verdict.RUNTIME_ERROR
    assert run.trace.events[-1].kind == "exception"
