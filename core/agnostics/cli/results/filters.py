"""Options that filter runs and verifications."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any

import click

from agnostics.types.errors import UsageError, unknown_name_error
from agnostics.types.verification import Verdict
from agnostics.util.column_ranges import LARGEST_INTEGER

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from agnostics.store.filters import VerificationFilter

_TIMES = ["%Y-%m-%d", "%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S"]
_RUN_OPTIONS = (
    click.option("--language", help="Runs in this language."),
    click.option("--model", metavar="TEXT", help="Runs of models whose names contain this."),
    click.option("--kind", type=click.Choice(["train", "eval", "sft"]), help="Runs of this kind only."),
    click.option("--status", type=click.Choice(["running", "finished", "interrupted", "failed"])),
    click.option(
        "--since",
        type=click.DateTime(_TIMES),
        metavar="TIME",
        help="Runs started since 2026-11-22, or 2026-11-22T10:30.",
    ),
)
_VERIFICATION_OPTIONS = (
    click.option("--language", help="Programs in this language."),
    click.option("--verdict", "verdicts", multiple=True, help="Programs with this verdict; can be repeated."),
    click.option("--step", "steps", metavar="N[-M]", help="Programs of this step, or of steps N to M."),
    click.option("--task", help="Programs for the task with this id."),
    click.option("--family", help="Programs for tasks of this family."),
)


def run_options(function: Callable[..., None]) -> Callable[..., None]:
    """Options that filter runs; the command receives the filter as `run_filter`."""
    names = ("language", "model", "kind", "status", "since")

    @wraps(function)
    def command(**given: Any) -> None:
        from agnostics.store.filters import RunFilter

        function(run_filter=RunFilter(**{name: given.pop(name) for name in names}), **given)

    return _with(_RUN_OPTIONS, command)


def verification_options(function: Callable[..., None]) -> Callable[..., None]:
    """Options that filter verifications; the command receives them as `filters`, for `filter_of`."""
    names = ("language", "verdicts", "steps", "task", "family")

    @wraps(function)
    def command(**given: Any) -> None:
        function(filters={name: given.pop(name) for name in names}, **given)

    return _with(_VERIFICATION_OPTIONS, command)


def filter_of(connection: Connection, name: str | None, filters: dict[str, Any]) -> VerificationFilter:
    """The filter for the options `filters` and `name`, which is RUN or RUN:PHASE, None for every run.

    Raises UsageError for an unknown run, phase or verdict, and for malformed steps.
    """
    from agnostics.store.filters import VerificationFilter

    run, phase = (None, None) if name is None else run_and_phase(connection, name)
    for verdict in filters["verdicts"]:
        if verdict not in set(Verdict):
            raise unknown_name_error("verdict", verdict, Verdict)
    return VerificationFilter(**{**filters, "steps": _steps(filters["steps"])}, run=run, phase=phase)


def run_and_phase(connection: Connection, name: str) -> tuple[str, str | None]:
    """The id and the phase that RUN or RUN:PHASE means. Raises UsageError if there is none."""
    from agnostics.store.queries.runs import find_run
    from agnostics.types.rollout import PHASES

    run, _, phase = name.partition(":")
    if phase and phase not in PHASES:
        raise unknown_name_error("phase", phase, PHASES)
    return find_run(connection, run), phase or None


def _steps(text: str | None) -> tuple[int, int] | None:
    if text is None:
        return None
    first, _, last = text.partition("-")
    try:
        steps = int(first), int(last or first)
    except ValueError:
        raise UsageError(f"--step: expected a number or two as in 10-20, not {text!r}") from None
    if max(steps) > LARGEST_INTEGER:
        raise UsageError(f"--step: no run has a step {max(steps)}")
    return steps


def _with(options: tuple[Any, ...], command: Callable[..., None]) -> Callable[..., None]:
    for option in reversed(options):
        command = option(command)
    return command
