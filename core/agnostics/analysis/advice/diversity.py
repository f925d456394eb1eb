"""A diverse sample of failed programs: as many different mistakes as fit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import TypeVar

from agnostics.types.failed_program import FAILED_VERDICTS, FailedProgram
from agnostics.types.verification import Verdict

T = TypeVar("T")


def diverse_sample(programs: Iterable[FailedProgram], count: int) -> list[FailedProgram]:
    """At most `count` of `programs`, without duplicates: round robin over verdicts, and in each over message patterns.

    The most frequent patterns come first, and of each pattern the first programs. Deterministic.
    """
    by_verdict: dict[Verdict, dict[str, list[FailedProgram]]] = {verdict: {} for verdict in FAILED_VERDICTS}
    seen = set[str]()
    for failed in programs:
        if failed.program not in seen:
            seen.add(failed.program)
            by_verdict[failed.verdict].setdefault(failed.message_pattern, []).append(failed)
    groups = (sorted(patterns.values(), key=len, reverse=True) for patterns in by_verdict.values())
    return list(islice(_round_robin([list(_round_robin(group)) for group in groups]), count))


def _round_robin(rows: Sequence[Sequence[T]]) -> Iterator[T]:
    """The first element of every row, then the second of every row that has one, and so on."""
    place = 0
    while rows := [row for row in rows if place < len(row)]:
        yield from (row[place] for row in rows)
        place += 1
