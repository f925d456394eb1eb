"""The curves of a run: what the paper's figures 5, 7 and 8 to 14 are drawn from, read from the store."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import fmean

from sqlalchemy import Connection

from agnostics.store.queries.runs import RunSummary, curve, run_summary
from agnostics.store.queries.steps import held_out_by_step, metrics_by_step, verdicts_by_step
from agnostics.types.errors import UsageError
from agnostics.types.verification import Verdict
from agnostics.util.statistics import bootstrap_interval

Series = Mapping[int, float]
"""A figure by step, in order of the steps."""


@dataclass(frozen=True, slots=True)
class Measured:
    """Held-out pass@1, with its 95 % interval by resampling tasks."""

    pass_at_1: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Curves:
    """How a run went, step by step. Rates and shares lie between 0 and 1."""

    run: RunSummary
    pass_rate: Series
    """The share of programs accepted, among those judged: the batch pass@1 of the paper."""
    reward: Series
    shares: Mapping[Verdict, Series]
    """The share of each verdict that occurred, from `accepted` to `sandbox_error`."""
    length: Series
    """The mean length of an answer, in tokens."""
    held_out: Mapping[int, Measured]


def curves_of(connection: Connection, run: str) -> Curves:
    """The curves of the run whose id is `run`. Raises UsageError where it has no training step."""
    line = run_summary(connection, run)
    figures = metrics_by_step(connection, run)
    shares = _shares(verdicts_by_step(connection, run))
    if not shares:
        raise UsageError(f"run {run} has no training step to draw; agn results list says which have")
    held_out = held_out_by_step(connection, run)
    return Curves(
        run=line,
        pass_rate={count.name: count.rate for count in curve(connection, run)},
        reward=_series(figures, "reward_mean"),
        shares=shares,
        length=_series(figures, "tokens_mean"),
        held_out={
            step: Measured(fmean(rates), *bootstrap_interval(rates, seed=line.seed)) for step, rates in held_out.items()
        },
    )


def smoothed(series: Series) -> Series:
    """The mean over the steps around each, a twentieth of all and at least five; fewer at both ends."""
    values = list(series.values())
    reach = max(5, len(values) // 20) // 2
    return {step: fmean(values[max(0, place - reach) : place + reach + 1]) for place, step in enumerate(series)}


def _series(figures: Mapping[int, Mapping[str, float]], name: str) -> Series:
    return {step: found[name] for step, found in figures.items() if name in found}


def _shares(counts: Mapping[int, Mapping[str, int]]) -> dict[Verdict, Series]:
    occurred = {verdict for found in counts.values() for verdict in found}
    return {
        verdict: {step: found.get(verdict, 0) / sum(found.values()) for step, found in counts.items()}
        for verdict in reversed(Verdict)
        if verdict in occurred
    }
