"""The check of a language's tracer: a program's events, and that it runs as without."""

from __future__ import annotations

from agnostics.sandbox.modes import AUTO, Backends
from agnostics.testing.contract import SUMS, UNHURRIED_S
from agnostics.testing.expectations import ExpectationResult
from agnostics.traces.runner import TracedRun, TraceRunner
from agnostics.types.language import Language
from agnostics.types.task import Limits
from agnostics.types.verification import Verdict

TEXT = "trace: sum is traced, and adds as it does without"
_LIMITS = Limits(run_s=UNHURRIED_S)


def check_trace(language: Language, sandbox: str = AUTO, backends: Backends | None = None) -> ExpectationResult:
    """Trace the contract program `sum` of a language with a tracer.

    Raises MissingRequirement if the tracer cannot be had here.
    """
    program = language.contract.get("sum")
    if program is None:
        return ExpectationResult("contract", TEXT, False, "no_program: the pack brings no such program")
    with TraceRunner(language, sandbox, _LIMITS, backends=backends) as runner:
        failures = [_failure(runner.run(program, given), output) for given, output in SUMS[:2]]
    failure = next(filter(None, failures), "")
    return ExpectationResult("contract", TEXT, not failure, failure)


def _failure(run: TracedRun, output: str) -> str:
    """The reason why a run is not as it should be, or an empty text."""
    if run.verdict is not Verdict.ACCEPTED or run.trace is None:
        return f"{run.verdict}: {run.error or run.stderr.decode(errors='replace')[:300]}"
    if run.stdout.decode(errors="replace").split() != output.split():
        return f"it printed {run.stdout[:100]!r}"
    kinds = {event.kind for event in run.trace.events}
    if "line" not in kinds:
        return "the trace has no line"
    if run.trace.is_complete and "return" not in kinds:
        return "the trace has no return"
    return ""
