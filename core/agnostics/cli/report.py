"""The report of one run, for `agn results show`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from statistics import fmean
from typing import Any

import click
from sqlalchemy import Connection

from agnostics.cli.eval_report import describe_difference
from agnostics.cli.output import print_table
from agnostics.evaluate.report import PairedDifference, training_gain
from agnostics.store.queries.runs import (
    EvalScore,
    PassCount,
    RunSummary,
    curve,
    family_counts,
    find_run,
    run_summary,
    scores,
    verdicts,
)
from agnostics.store.queries.steps import metric_by_step
from agnostics.util.text import plural

CURVE_ROWS = 20
EXTREMES = 5
_PHASES = ("eval_before", "train", "eval_during", "eval_after", "eval", "eval_generated_tests")
_WHEN = {"eval_before": "before training", "eval_after": "after training", "eval": "in evaluation"}
_ACTIVITIES = {"train": "trained in", "eval": "evaluated in", "sft": "fine-tuned in"}


@dataclass(frozen=True, slots=True)
class RunReport:
    """The report of a run. `families` are hardest first, in the phase `families_phase`."""

    run: RunSummary
    scores: list[EvalScore]
    gain: PairedDifference | None
    verdicts: list[tuple[str, str, int]]
    curve: list[PassCount]
    families_phase: str
    families: list[PassCount]
    losses: list[tuple[int, float]]
    """The loss of each step of supervised fine-tuning."""
    validation_losses: list[tuple[int, float]]
    """The loss on validation examples after steps of supervised fine-tuning."""

    def as_dict(self) -> dict[str, Any]:
        """The report as JSON."""
        counts = {phase: {v: n for p, v, n in self.verdicts if p == phase} for phase, _, _ in self.verdicts}
        return {
            **self.run.as_dict(),
            "scores": [asdict(score) for score in self.scores],
            "gain": self.gain and {key: getattr(self.gain, key) for key in ("mean", "low", "high", "p", "tasks")},
            "verdicts": counts,
            "curve": [{"step": count.name, **_counts(count)} for count in self.curve],
            "families": [{"family": c.name, "phase": self.families_phase, **_counts(c)} for c in self.families],
            "losses": [{"step": step, "loss": loss} for step, loss in self.losses],
            "validation_losses": [{"step": step, "loss": loss} for step, loss in self.validation_losses],
        }


def _counts(count: PassCount) -> dict[str, Any]:
    return {"programs": count.programs, "accepted": count.accepted, "pass_rate": count.rate}


def report_of(connection: Connection, name: str) -> RunReport:
    """The report of the run named `name`. Raises UsageError if there is none."""
    run = find_run(connection, name)
    summary = run_summary(connection, run)
    phase, families = family_counts(connection, run)
    return RunReport(
        run=summary,
        scores=scores(connection, run, summary.seed),
        gain=training_gain(connection, run),
        verdicts=verdicts(connection, run),
        curve=curve(connection, run),
        families_phase=phase,
        families=families,
        losses=metric_by_step(connection, run, "loss") if summary.kind == "sft" else [],
        validation_losses=metric_by_step(connection, run, "eval_during_loss"),
    )


def print_report(report: RunReport) -> None:
    """Print the report as text."""
    run = report.run
    click.echo(describe(run))
    programs = "" if run.kind == "sft" else f", {plural(run.completions, 'program')}"
    click.echo(f"started {run.started_at:%Y-%m-%d %H:%M} UTC, {plural(run.steps, 'step')}{programs}")
    for score in report.scores:
        low, high = score.interval
        click.echo(
            f"pass@1 {_WHEN[score.phase]}: {score.pass_at_1:.3f} ({low:.3f} to {high:.3f})"
            f" on {plural(score.tasks, 'task')}"
        )
    if report.losses:
        click.echo()
        print_table(["step", "loss"], ((step, f"{loss:.3f}") for step, loss in _thinned_losses(report.losses)))
        if report.validation_losses:
            step, loss = report.validation_losses[-1]
            click.echo(f"\nvalidation loss after step {step}: {loss:.3f}")
        return
    if report.gain:
        click.echo(f"after less before, by task: {describe_difference(report.gain)}")
    _print_verdicts(report.verdicts)
    if report.curve:
        click.echo()
        print_table(["step", "programs", "pass rate", ""], (_point(count) for count in thinned(report.curve)))
    _print_families(report)


def describe(run: RunSummary) -> str:
    """A run in one sentence."""
    activity = _ACTIVITIES[run.kind]
    return f"run {run.run} ({run.kind}, {run.status}): {run.model} {activity} {run.language} on {run.dataset}"


def _print_verdicts(counts: Sequence[tuple[str, str, int]]) -> None:
    phases = sorted({phase for phase, _, _ in counts}, key=_PHASES.index)
    rows = {verdict: [0] * len(phases) for _, verdict, _ in counts}
    for phase, verdict, programs in counts:
        rows[verdict][phases.index(phase)] = programs
    click.echo()
    print_table(["verdict", *phases], ([verdict, *numbers] for verdict, numbers in rows.items()))


def thinned(counts: Sequence[PassCount]) -> list[PassCount]:
    """At most 20 points of a curve: adjacent steps are summed, under the number of the last."""
    width = -(-len(counts) // CURVE_ROWS)
    groups = [counts[start : start + width] for start in range(0, len(counts), width)]
    return [PassCount(g[-1].name, sum(c.programs for c in g), sum(c.accepted for c in g)) for g in groups]


def _thinned_losses(losses: Sequence[tuple[int, float]]) -> list[tuple[int, float]]:
    """At most 20 points: the means of adjacent steps, under the number of the last."""
    width = -(-len(losses) // CURVE_ROWS)
    groups = [losses[start : start + width] for start in range(0, len(losses), width)]
    return [(group[-1][0], fmean(loss for _, loss in group)) for group in groups]


def _point(count: PassCount) -> list[Any]:
    return [count.name, count.programs, f"{count.rate:.2f}", "█" * round(count.rate * 40)]


def _print_families(report: RunReport) -> None:
    if len(report.families) < 2:
        return
    half = min(EXTREMES, len(report.families) // 2)
    click.echo(f"\nhardest and easiest families of tasks ({report.families_phase}):")
    extremes = [*report.families[:half], *report.families[-half:]]
    print_table(["family", "programs", "pass rate"], ([c.name, c.programs, f"{c.rate:.2f}"] for c in extremes))
