"""How evaluations went: a table for each, the comparison with the first, and a chart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from agnostics.cli.output import print_json, print_table, words
from agnostics.evaluate.report import Difference, Evaluation, Rate, compared


def show(evaluations: Sequence[Evaluation], plot: Path | None, as_json: bool) -> None:
    """Print every evaluation and how each differs from the first; draw them into `plot` where that is given."""
    baseline, *others = evaluations
    differences = [compared(other, baseline) for other in others]
    if as_json:
        told: dict[str, Any] = {"evaluations": [evaluation.as_dict() for evaluation in evaluations]}
        print_json({**told, "differences": [asdict(difference) for difference in differences]})
    else:
        for evaluation in evaluations:
            _print_evaluation(evaluation)
        for difference in differences:
            click.echo(_described(difference))
    if plot:
        from agnostics.analysis.plots import draw_rates

        draw_rates(evaluations, plot)
        words.print(f"drawn: {plot}", markup=False)


def _print_evaluation(evaluation: Evaluation) -> None:
    run = evaluation.run
    click.echo(f"run {run.run}: {run.model} in {run.language} on {run.dataset}, {run.completions} programs")
    _print_rates("measure", evaluation.rates)
    for title, rates in (("difficulty", evaluation.by_difficulty), ("tag", evaluation.by_tag)):
        if rates:
            click.echo("\npass@1:")
            _print_rates(title, rates)
    total = sum(evaluation.verdicts.values())
    click.echo()
    print_table(
        ["verdict", "programs", "share"],
        ([verdict, count, f"{count / total:.3f}"] for verdict, count in evaluation.verdicts.items()),
    )
    click.echo()


def _print_rates(title: str, rates: Mapping[str, Rate]) -> None:
    rows = (
        [name, f"{rate.rate:.3f}", f"{rate.low:.3f} to {rate.high:.3f}", rate.tasks] for name, rate in rates.items()
    )
    print_table([title, "rate", "95 % interval", "tasks"], rows)


def _described(difference: Difference) -> str:
    return (
        f"pass@1 of {difference.run} less that of {difference.baseline}: {difference.mean:+.3f} "
        f"(95 %: {difference.low:+.3f} to {difference.high:+.3f}), p = {difference.p:.2g} on {difference.tasks} tasks"
    )
