"""Contenders measured against each other: in turns, on the same programs and cores, so that the machine cancels out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from statistics import median

from agnostics_benchmarks.contenders import Contender
from agnostics_benchmarks.workload import Workload

ROUNDS = 5
BATCH_S = 2.0
"""Seconds that the bare limit takes for one contender's turn in a round."""
LEAST_PER_SLOT = 8
"""Programs in a turn, however slow the language is: with fewer it would matter which come first."""
FEW_PER_SLOT = 4
"""Programs in a turn of a contender that starts a container for each."""


@dataclass(frozen=True)
class Rates:
    """Programs per second by contender, and how fast each is relative to another in the same round; medians."""

    rounds: tuple[dict[str, float], ...]

    def per_s(self, name: str) -> float | None:
        """The median rate of one contender; None where it did not take part."""
        rates = [rates[name] for rates in self.rounds if name in rates]
        return median(rates) if rates else None

    def over(self, name: str, other: str) -> float | None:
        """The median over the rounds of how many times as fast `name` is as `other`."""
        ratios = [rates[name] / rates[other] for rates in self.rounds if {name, other} <= rates.keys()]
        return median(ratios) if ratios else None


def measure(workload: Workload, contenders: Sequence[Contender], slots: int) -> Rates:
    """Let `contenders`, the bare limit first, run the same programs in turns, each round in another order."""
    with ExitStack() as open_:
        for contender in contenders:
            open_.enter_context(contender)
            contender.seconds(workload, 2 * slots)
        bare = contenders[0]
        count = _count(bare.seconds(workload, 8 * slots) / (8 * slots), slots)
        return Rates(tuple(_round(workload, order, count, slots) for order in _orders(contenders)))


def _count(program_s: float, slots: int) -> int:
    """Programs for a turn: as many as the bare limit runs in the time of a turn, and enough to be of several kinds."""
    return max(LEAST_PER_SLOT, round(BATCH_S / program_s / slots)) * slots


def _orders(contenders: Sequence[Contender]) -> Iterator[Sequence[Contender]]:
    for turn in range(ROUNDS):
        first = turn % len(contenders)
        yield [*contenders[first:], *contenders[:first]]


def _round(workload: Workload, order: Sequence[Contender], count: int, slots: int) -> dict[str, float]:
    rates = {}
    for contender in order:
        programs = min(count, FEW_PER_SLOT * slots) if contender.name == "docker_run" else count
        rates[contender.name] = programs / contender.seconds(workload, programs)
    return rates
