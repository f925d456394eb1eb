"""What differs between two runs: settings, pass@1, the tasks that they solved, verdicts and the curves of training."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import fmean
from typing import Any

from sqlalchemy import Connection

from agnostics.evaluate.report import Difference, paired
from agnostics.store.queries.runs import EvalScore, PassCount, RunSummary, curve, run_summary, scores, verdicts
from agnostics.store.queries.steps import held_out_by_step
from agnostics.store.queries.tasks import SampleCounts, sample_counts
from agnostics.store.run_settings import run_settings
from agnostics.types.errors import UsageError

_BEFORE, _AFTER = ("eval_before",), ("eval_after", "eval")
"""The phases in which two runs were measured alike: an evaluation is held against the end of a training."""

Both = tuple[float, float]
"""A figure of the one run and of the other."""


@dataclass(frozen=True, slots=True)
class Measure:
    """pass@1 of both runs in a phase of each, and how they differ on the tasks that they share.

    `won` are the shared tasks of which only the other run has a program accepted, `lost` those of which only the first.
    """

    scores: tuple[EvalScore, EvalScore]
    difference: Difference
    won: tuple[str, ...]
    lost: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two runs side by side. What only one of them has is left out, but for `settings`, where it is None."""

    runs: tuple[RunSummary, RunSummary]
    settings: Mapping[str, tuple[Any, Any]]
    """The settings that differ, by name."""
    measures: Sequence[Measure]
    """Before training, and in the end."""
    verdicts: Mapping[str, Mapping[str, Both]]
    """The share of each verdict, by phase; an evaluation's and that after training are one, `eval_after`."""
    curve: Sequence[tuple[PassCount, PassCount]]
    """The programs of each step that both trained."""
    held_out: Mapping[int, Both]
    """Held-out pass@1 by step, for steps after which both were measured."""

    def as_dict(self) -> dict[str, Any]:
        """The comparison as JSON."""
        return {
            "runs": [run.as_dict() for run in self.runs],
            "settings": {name: list(values) for name, values in self.settings.items()},
            "measures": [asdict(measure) for measure in self.measures],
            "verdicts": {phase: dict(shares) for phase, shares in self.verdicts.items()},
            "curve": [{"step": one.name, "pass_rates": [one.rate, other.rate]} for one, other in self.curve],
            "held_out": [{"step": step, "pass_at_1": list(both)} for step, both in self.held_out.items()],
        }


def comparison_of(connection: Connection, one: str, other: str) -> Comparison:
    """What differs between the run `one` and the run `other`, two ids.

    Raises UsageError where they are one run, or share neither a task that both were measured on nor a training step.
    """
    if one == other:
        raise UsageError(f"both are the run {one}; name two")
    measures = [measure for phases in (_BEFORE, _AFTER) if (measure := _measure(connection, one, other, phases))]
    steps = _equal_steps(curve(connection, one), curve(connection, other))
    if not measures and not steps:
        raise UsageError(f"runs {one} and {other} share no task that both were measured on, and no training step")
    return Comparison(
        runs=(run_summary(connection, one), run_summary(connection, other)),
        settings=_differing(run_settings(connection, one), run_settings(connection, other)),
        measures=measures,
        verdicts=_verdicts(verdicts(connection, one), verdicts(connection, other)),
        curve=steps,
        held_out=_held_out(held_out_by_step(connection, one), held_out_by_step(connection, other)),
    )


def _measure(connection: Connection, one: str, other: str, phases: Sequence[str]) -> Measure | None:
    """How both did in the one of `phases` that each has; None where they share no task there."""
    found = [sample_counts(connection, run, phases) for run in (one, other)]
    shared = [task for task in found[0] if task in found[1]]
    if not shared:
        return None
    line = run_summary(connection, one)
    scored = [_score(connection, run, line.seed, phases) for run in (one, other)]
    rates = [{task: outcome.accepted / outcome.programs for task, outcome in tasks.items()} for tasks in found]
    return Measure(
        scores=(scored[0], scored[1]),
        difference=paired((other, rates[1]), (one, rates[0]), line.seed),
        won=tuple(task for task in shared if _solves(found[1][task]) and not _solves(found[0][task])),
        lost=tuple(task for task in shared if _solves(found[0][task]) and not _solves(found[1][task])),
    )


def _score(connection: Connection, run: str, seed: int, phases: Sequence[str]) -> EvalScore:
    return next(score for score in scores(connection, run, seed) if score.phase in phases)


def _solves(outcome: SampleCounts) -> bool:
    return outcome.accepted > 0


def _differing(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:
    both = {name: (one.get(name), other.get(name)) for name in {**one, **other}}
    return {name: values for name, values in both.items() if values[0] != values[1]}


def _verdicts(one: Sequence[tuple[str, str, int]], other: Sequence[tuple[str, str, int]]) -> dict[str, dict[str, Both]]:
    shares = [_shares(counted) for counted in (one, other)]
    return {
        phase: {
            verdict: (shares[0][phase].get(verdict, 0.0), shares[1][phase].get(verdict, 0.0))
            for verdict in {**shares[0][phase], **shares[1][phase]}
        }
        for phase in ("eval_before", "train", "eval_during", "eval_after")
        if phase in shares[0] and phase in shares[1]
    }


def _shares(counted: Sequence[tuple[str, str, int]]) -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, int]] = {}
    for phase, verdict, programs in counted:
        found.setdefault("eval_after" if phase in _AFTER else phase, {})[verdict] = programs
    return {
        phase: {verdict: programs / sum(counts.values()) for verdict, programs in counts.items()}
        for phase, counts in found.items()
    }


def _equal_steps(one: Sequence[PassCount], other: Sequence[PassCount]) -> list[tuple[PassCount, PassCount]]:
    others = {count.name: count for count in other}
    return [(count, others[count.name]) for count in one if count.name in others]


def _held_out(one: Mapping[int, list[float]], other: Mapping[int, list[float]]) -> dict[int, Both]:
    return {step: (fmean(rates), fmean(other[step])) for step, rates in one.items() if step in other}
