"""A choice of failed programs that shows as many different faults as it can."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import TypeVar

from agnostics.types.failed_program import FAILED_VERDICTS, FailedProgram
from agnostics.types.verification import Verdict

T = TypeVar("T")


def choose(faults: Iterable[FailedProgram], count: int) -> list[FailedProgram]:
    """At most `count` of `faults`, no program twice: verdicts in turn, and in each the shapes of messages in turn.

    The commonest shapes come first, and of each shape the first programs. The same faults give the same choice.
    """
    by_verdict: dict[Verdict, dict[str, list[FailedProgram]]] = {verdict: {} for verdict in FAILED_VERDICTS}
    programs = set[str]()
    for fault in faults:
        if fault.program not in programs:
            programs.add(fault.program)
            by_verdict[fault.verdict].setdefault(fault.shape, []).append(fault)
    shapes = (sorted(shapes.values(), key=len, reverse=True) for shapes in by_verdict.values())
    return list(islice(_in_turn([list(_in_turn(alike)) for alike in shapes]), count))


def _in_turn(rows: Sequence[Sequence[T]]) -> Iterator[T]:
    """The first of every row, then the second of every row that has one, and so on."""
    place = 0
    while rows := [row for row in rows if place < len(row)]:
        yield from (row[place] for row in rows)
        place += 1
