"""Comparison of two runs: settings, pass@1, solved tasks, verdicts and training curves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import fmean
from typing import Any

from sqlalchemy import Connection

from agnostics.evaluate.report import PairedDifference, paired_difference
from agnostics.store.queries.runs import EvalScore, PassCount, RunSummary, curve, run_summary, scores, verdicts
from agnostics.store.queries.steps import HeldOutRates, held_out_by_step
from agnostics.store.queries.tasks import SampleCounts, sample_counts
from agnostics.store.run_settings import run_settings
from agnostics.types.errors import UsageError

_BEFORE, _AFTER = ("eval_before",), ("eval_after", "eval")
"""The comparable phases of two runs: an evaluation is compared with the end of a training run."""

Pair = tuple[float, float]
"""A metric of the first run and of the second."""
VerdictCount = tuple[str, str, int]
"""A phase, a verdict, and the number of programs with it."""


@dataclass(frozen=True, slots=True)
class PhaseComparison:
    """pass@1 of both runs in a phase, and their difference on shared tasks.

    `won` are the shared tasks that only the second run solves, `lost` those that only the first solves.
    """

    scores: tuple[EvalScore, EvalScore]
    difference: PairedDifference
    won: tuple[str, ...]
    lost: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RunComparison:
    """Two runs side by side. Entries of only one of them are left out; in `settings` the other value is None."""

    runs: tuple[RunSummary, RunSummary]
    settings: Mapping[str, tuple[Any, Any]]
    """The settings that differ, by name."""
    measures: Sequence[PhaseComparison]
    """Before training and after it."""
    verdicts: Mapping[str, Mapping[str, Pair]]
    """The fraction of each verdict by phase; an evaluation's phase counts as `eval_after`."""
    curve: Sequence[tuple[PassCount, PassCount]]
    """The programs of each training step that both have."""
    held_out: Mapping[int, Pair]
    """Held-out pass@1 by step, for the steps after which both were evaluated."""

    def as_dict(self) -> dict[str, Any]:
        """The comparison as JSON."""
        return {
            "runs": [run.as_dict() for run in self.runs],
            "settings": {name: list(values) for name, values in self.settings.items()},
            "measures": [asdict(measure) for measure in self.measures],
            "verdicts": {phase: dict(fractions) for phase, fractions in self.verdicts.items()},
            "curve": [{"step": one.name, "pass_rates": [one.rate, other.rate]} for one, other in self.curve],
            "held_out": [{"step": step, "pass_at_1": list(pair)} for step, pair in self.held_out.items()],
        }


def compare_runs(connection: Connection, one: str, other: str) -> RunComparison:
    """The comparison of two runs, given by their ids.

    Raises UsageError if they are the same run, or share neither an evaluated task nor a training step.
    """
    if one == other:
        raise UsageError(f"both are the run {one}; name two")
    measures = [measure for phases in (_BEFORE, _AFTER) if (measure := _compare_phase(connection, one, other, phases))]
    steps = _equal_steps(curve(connection, one), curve(connection, other))
    if not measures and not steps:
        raise UsageError(f"runs {one} and {other} share no evaluated task and no training step")
    return RunComparison(
        runs=(run_summary(connection, one), run_summary(connection, other)),
        settings=_differing(run_settings(connection, one), run_settings(connection, other)),
        measures=measures,
        verdicts=_verdict_fractions(verdicts(connection, one), verdicts(connection, other)),
        curve=steps,
        held_out=_held_out(held_out_by_step(connection, one), held_out_by_step(connection, other)),
    )


def _compare_phase(connection: Connection, one: str, other: str, phases: Sequence[str]) -> PhaseComparison | None:
    """The comparison in the one of `phases` that each run has; None if they share no task there."""
    attempts = [sample_counts(connection, run, phases) for run in (one, other)]
    shared = [task for task in attempts[0] if task in attempts[1]]
    if not shared:
        return None
    line = run_summary(connection, one)
    phase_scores = [_score(connection, run, line.seed, phases) for run in (one, other)]
    rates = [{task: outcome.accepted / outcome.programs for task, outcome in tasks.items()} for tasks in attempts]
    families = {task: outcome.family for task, outcome in attempts[0].items()}
    return PhaseComparison(
        scores=(phase_scores[0], phase_scores[1]),
        difference=paired_difference((other, rates[1]), (one, rates[0]), families, line.seed),
        won=tuple(task for task in shared if _solved(attempts[1][task]) and not _solved(attempts[0][task])),
        lost=tuple(task for task in shared if _solved(attempts[0][task]) and not _solved(attempts[1][task])),
    )


def _score(connection: Connection, run: str, seed: int, phases: Sequence[str]) -> EvalScore:
    return next(score for score in scores(connection, run, seed) if score.phase in phases)


def _solved(outcome: SampleCounts) -> bool:
    return outcome.accepted > 0


def _differing(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:
    both = {name: (one.get(name), other.get(name)) for name in {**one, **other}}
    return {name: values for name, values in both.items() if values[0] != values[1]}


def _verdict_fractions(one: Sequence[VerdictCount], other: Sequence[VerdictCount]) -> dict[str, dict[str, Pair]]:
    fractions = [_fractions(counts) for counts in (one, other)]
    return {
        phase: {
            verdict: (fractions[0][phase].get(verdict, 0.0), fractions[1][phase].get(verdict, 0.0))
            for verdict in {**fractions[0][phase], **fractions[1][phase]}
        }
        for phase in ("eval_before", "train", "eval_during", "eval_after")
        if phase in fractions[0] and phase in fractions[1]
    }


def _fractions(counts: Sequence[VerdictCount]) -> dict[str, dict[str, float]]:
    by_phase: dict[str, dict[str, int]] = {}
    for phase, verdict, programs in counts:
        by_phase.setdefault("eval_after" if phase in _AFTER else phase, {})[verdict] = programs
    return {
        phase: {verdict: programs / sum(by_verdict.values()) for verdict, programs in by_verdict.items()}
        for phase, by_verdict in by_phase.items()
    }


def _equal_steps(one: Sequence[PassCount], other: Sequence[PassCount]) -> list[tuple[PassCount, PassCount]]:
    others = {count.name: count for count in other}
    return [(count, others[count.name]) for count in one if count.name in others]


def _held_out(one: Mapping[int, HeldOutRates], other: Mapping[int, HeldOutRates]) -> dict[int, Pair]:
    return {step: (fmean(found.rates), fmean(other[step].rates)) for step, found in one.items() if step in other}
