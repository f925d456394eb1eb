"""The failed programs of the runs that a command names: all of a run, or those of one phase."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agnostics.cli.results.filters import run_and_phase
from agnostics.cli.results.reading import reading
from agnostics.types.errors import UsageError
from agnostics.types.failed_program import FailedProgram

if TYPE_CHECKING:
    from agnostics.store.queries.runs import RunSummary


@dataclass(frozen=True, slots=True)
class RunFailures:
    """The failed programs of a run, all or those of `phase`, in the order of their completions."""

    run: RunSummary
    phase: str | None
    programs: list[FailedProgram]

    @property
    def name(self) -> str:
        """Language, model and run, for display."""
        return " · ".join(filter(None, (self.run.language, self.run.model, self.run.run, self.phase)))


def load_failures(names: Iterable[str], store: str | None) -> list[RunFailures]:
    """The failures of each of `names`, RUN or RUN:PHASE. Raises UsageError for an unknown run or phase."""
    from agnostics.store.queries.failed_programs import failed_programs
    from agnostics.store.queries.runs import run_summary

    failures = []
    with reading(store) as connection:
        for name in dict.fromkeys(names):
            run, phase = run_and_phase(connection, name)
            programs = failed_programs(connection, run, phase)
            failures.append(RunFailures(run_summary(connection, run), phase, programs))
    return failures


def single_language(failures: Iterable[RunFailures]) -> tuple[str, list[FailedProgram]]:
    """The language of `failures`, and all their programs. Raises UsageError for several languages, or no program."""
    failures = list(failures)
    languages = sorted({of_run.run.language for of_run in failures})
    if len(languages) > 1:
        raise UsageError(f"the runs are in different languages: {', '.join(languages)}; name runs of one")
    programs = [program for of_run in failures for program in of_run.programs]
    if not programs:
        raise UsageError("there is no failed program to show; name another run")
    return languages[0], programs
