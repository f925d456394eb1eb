"""The faulty programs that a command names: those of a run, or of one phase of it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agnostics.cli.results.filters import run_and_phase
from agnostics.cli.results.reading import reading
from agnostics.types.errors import UsageError
from agnostics.types.failed_program import FailedProgram

if TYPE_CHECKING:
    from agnostics.store.queries.runs import RunLine


@dataclass(frozen=True, slots=True)
class Faulty:
    """The faulty programs of a run, all of them or those of `phase`, in the order in which they were written."""

    run: RunLine
    phase: str | None
    faults: list[FailedProgram]

    @property
    def name(self) -> str:
        """Language, model and run, for people."""
        return " · ".join(filter(None, (self.run.language, self.run.model, self.run.run, self.phase)))


def faulty_in(names: Iterable[str], store: str | None) -> list[Faulty]:
    """What each of `names` means, RUN or RUN:PHASE. Raises UsageError for an unknown run or phase."""
    from agnostics.store.queries.attempts import failed_programs
    from agnostics.store.queries.runs import run_line

    found = []
    with reading(store) as connection:
        for name in dict.fromkeys(names):
            run, phase = run_and_phase(connection, name)
            found.append(Faulty(run_line(connection, run), phase, failed_programs(connection, run, phase)))
    return found


def one_language(found: Iterable[Faulty]) -> tuple[str, list[FailedProgram]]:
    """The language of `found`, and all their programs. Raises UsageError for several languages, or no program."""
    found = list(found)
    languages = sorted({one.run.language for one in found})
    if len(languages) > 1:
        raise UsageError(f"the runs are in different languages: {', '.join(languages)}; name runs of one")
    faults = [fault for one in found for fault in one.faults]
    if not faults:
        raise UsageError("there is no faulty program to show; name another run")
    return languages[0], faults
