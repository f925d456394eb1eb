"""How one run went, as `agn results show` tells it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import click
from sqlalchemy import Connection

from agnostics.cli.output import print_table
from agnostics.store.queries.runs import (
    EvalScore,
    PassCount,
    RunSummary,
    curve,
    find_run,
    kinds,
    run_summary,
    scores,
    verdicts,
)

CURVE_ROWS = 20
EXTREMES = 5
_PHASES = ("eval_before", "train", "eval_during", "eval_after", "eval", "eval_generated_tests")
_WHEN = {"eval_before": "before training", "eval_after": "after training", "eval": "in evaluation"}


@dataclass(frozen=True, slots=True)
class Report:
    """Everything that is told of a run. `kinds` are hardest first, in the phase `kinds_in`."""

    run: RunSummary
    scores: list[EvalScore]
    verdicts: list[tuple[str, str, int]]
    curve: list[PassCount]
    kinds_in: str
    kinds: list[PassCount]

    def as_dict(self) -> dict[str, Any]:
        """The report as JSON."""
        counts = {phase: {v: n for p, v, n in self.verdicts if p == phase} for phase, _, _ in self.verdicts}
        return {
            **self.run.as_dict(),
            "scores": [asdict(score) for score in self.scores],
            "verdicts": counts,
            "curve": [{"step": count.name, **_figures(count)} for count in self.curve],
            "kinds": [{"kind": count.name, "phase": self.kinds_in, **_figures(count)} for count in self.kinds],
        }


def _figures(count: PassCount) -> dict[str, Any]:
    return {"programs": count.programs, "accepted": count.accepted, "pass_rate": count.rate}


def report_of(connection: Connection, name: str) -> Report:
    """The report of the run that `name` means. Raises UsageError where none does."""
    run = find_run(connection, name)
    line = run_summary(connection, run)
    phase, hardest = kinds(connection, run)
    return Report(
        run=line,
        scores=scores(connection, run, line.seed),
        verdicts=verdicts(connection, run),
        curve=curve(connection, run),
        kinds_in=phase,
        kinds=hardest,
    )


def print_report(report: Report) -> None:
    """The report for people."""
    run = report.run
    click.echo(describe(run))
    click.echo(f"started {run.started_at:%Y-%m-%d %H:%M} UTC, {run.steps} steps, {run.completions} programs")
    for score in report.scores:
        low, high = score.interval
        click.echo(
            f"pass@1 {_WHEN[score.phase]}: {score.pass_at_1:.3f} ({low:.3f} to {high:.3f}) on {score.tasks} tasks"
        )
    _print_verdicts(report.verdicts)
    if report.curve:
        click.echo()
        print_table(["step", "programs", "pass rate", ""], (_point(count) for count in thinned(report.curve)))
    _print_kinds(report)


def describe(run: RunSummary) -> str:
    """A run in a sentence."""
    doing = "learning" if run.kind == "train" else "evaluated in"
    preposition = "from" if run.kind == "train" else "on"
    return f"run {run.run} ({run.kind}, {run.status}): {run.model} {doing} {run.language} {preposition} {run.dataset}"


def _print_verdicts(counted: Sequence[tuple[str, str, int]]) -> None:
    phases = sorted({phase for phase, _, _ in counted}, key=_PHASES.index)
    rows = {verdict: [0] * len(phases) for _, verdict, _ in counted}
    for phase, verdict, programs in counted:
        rows[verdict][phases.index(phase)] = programs
    click.echo()
    print_table(["verdict", *phases], ([verdict, *numbers] for verdict, numbers in rows.items()))


def thinned(counts: Sequence[PassCount]) -> list[PassCount]:
    """At most 20 points of a curve: neighbouring steps are added up, and named by the last."""
    width = -(-len(counts) // CURVE_ROWS)
    groups = [counts[start : start + width] for start in range(0, len(counts), width)]
    return [PassCount(g[-1].name, sum(c.programs for c in g), sum(c.accepted for c in g)) for g in groups]


def _point(count: PassCount) -> list[Any]:
    return [count.name, count.programs, f"{count.rate:.2f}", "█" * round(count.rate * 40)]


def _print_kinds(report: Report) -> None:
    if len(report.kinds) < 2:
        return
    half = min(EXTREMES, len(report.kinds) // 2)
    click.echo(f"\nhardest and easiest kinds of task ({report.kinds_in}):")
    shown = [*report.kinds[:half], *report.kinds[-half:]]
    print_table(["kind", "programs", "pass rate"], ([c.name, c.programs, f"{c.rate:.2f}"] for c in shown))
