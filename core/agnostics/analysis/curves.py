"""The learning curves of a run, as the paper's figures 5, 7 and 8 to 14 show them, read from the store."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import fmean

from sqlalchemy import Connection

from agnostics.analysis.rates import RateEstimate, mean_rate
from agnostics.store.queries.runs import RunSummary, curve, run_summary
from agnostics.store.queries.steps import held_out_by_step, metrics_by_step, verdicts_by_step
from agnostics.types.errors import UsageError
from agnostics.types.verification import Verdict

Series = Mapping[int, float]
"""A metric by step, in the order of the steps."""


@dataclass(frozen=True, slots=True)
class RunCurves:
    """The metrics of a run by step. Rates and fractions lie between 0 and 1."""

    run: RunSummary
    pass_rate: Series
    """The fraction of verified programs that were accepted: the batch pass@1 of the paper."""
    reward: Series
    verdict_fractions: Mapping[Verdict, Series]
    """The fraction of each verdict that occurred, from `accepted` to `sandbox_error`."""
    completion_length: Series
    """The mean length of a completion, in tokens."""
    held_out: Mapping[int, RateEstimate]
    """Held-out pass@1, with its 95 % interval from resampling families; see `held_out_by_step`."""


@dataclass(frozen=True, slots=True)
class LossCurves:
    """The losses of supervised fine-tuning by step: in training, and on the validation examples."""

    run: RunSummary
    loss: Series
    validation: Series


def loss_curves(connection: Connection, run: str) -> LossCurves:
    """The losses of the run whose id is `run`. Raises UsageError if it has no step."""
    metrics = metrics_by_step(connection, run)
    loss = _series(metrics, "loss")
    if not loss:
        raise _nothing_to_draw(run)
    return LossCurves(run_summary(connection, run), loss, _series(metrics, "eval_during_loss"))


def run_curves(connection: Connection, run: str) -> RunCurves:
    """The curves of the run whose id is `run`. Raises UsageError if it has no training step."""
    line = run_summary(connection, run)
    metrics = metrics_by_step(connection, run)
    verdict_fractions = _verdict_fractions(verdicts_by_step(connection, run))
    if not verdict_fractions:
        raise _nothing_to_draw(run)
    held_out = held_out_by_step(connection, run)
    return RunCurves(
        run=line,
        pass_rate={count.name: count.rate for count in curve(connection, run)},
        reward=_series(metrics, "reward_mean"),
        verdict_fractions=verdict_fractions,
        completion_length=_series(metrics, "tokens_mean"),
        held_out={step: mean_rate(one.rates, one.families, line.seed) for step, one in held_out.items()},
    )


def _nothing_to_draw(run: str) -> UsageError:
    return UsageError(f"run {run} has no training step to draw; agn results list says which have")


def smooth(series: Series) -> Series:
    """The moving average over a twentieth of all steps and at least five, centred; over fewer at both ends."""
    values = list(series.values())
    reach = max(5, len(values) // 20) // 2
    return {step: fmean(values[max(0, place - reach) : place + reach + 1]) for place, step in enumerate(series)}


def _series(metrics: Mapping[int, Mapping[str, float]], name: str) -> Series:
    return {step: values[name] for step, values in metrics.items() if name in values}


def _verdict_fractions(counts: Mapping[int, Mapping[str, int]]) -> dict[Verdict, Series]:
    occurred = {verdict for by_verdict in counts.values() for verdict in by_verdict}
    return {
        verdict: {step: by_verdict.get(verdict, 0) / sum(by_verdict.values()) for step, by_verdict in counts.items()}
        for verdict in reversed(Verdict)
        if verdict in occurred
    }
