"""The faulty programs that a command names: those of a run, or of one phase of it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agnostics.advice.faults import Fault
from agnostics.cli.results.reading import reading
from agnostics.errors import UsageError, unknown

if TYPE_CHECKING:
    from agnostics.store.queries import RunLine

PHASES = ("train", "eval_before", "eval_during", "eval_after", "eval")


@dataclass(frozen=True, slots=True)
class Faulty:
    """The faulty programs of a run, all of them or those of `phase`, in the order in which they were written."""

    run: RunLine
    phase: str
    faults: list[Fault]

    @property
    def name(self) -> str:
        """Language, model and run, for people."""
        return " · ".join(filter(None, (self.run.language, self.run.model, self.run.run, self.phase)))


def faulty_in(names: Iterable[str], store: str | None) -> list[Faulty]:
    """What each of `names` means, RUN or RUN:PHASE. Raises UsageError for an unknown run or phase."""
    from agnostics.store.attempts import failed_programs
    from agnostics.store.queries import find_run, run_line

    found = []
    with reading(store) as connection:
        for name in dict.fromkeys(names):
            run, _, phase = name.partition(":")
            if phase and phase not in PHASES:
                raise unknown("phase", phase, PHASES)
            line = run_line(connection, find_run(connection, run))
            found.append(Faulty(line, phase, failed_programs(connection, line.run, phase or None)))
    return found


def one_language(found: Iterable[Faulty]) -> tuple[str, list[Fault]]:
    """The language of `found`, and all their programs. Raises UsageError for several languages, or no program."""
    found = list(found)
    languages = sorted({one.run.language for one in found})
    if len(languages) > 1:
        raise UsageError(f"the runs are in different languages: {', '.join(languages)}; name runs of one")
    faults = [fault for one in found for fault in one.faults]
    if not faults:
        raise UsageError("there is no faulty program to show; name another run")
    return languages[0], faults
