"""The output of `agn eval`: a table per evaluation, the comparison with the first one, and a chart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from agnostics.analysis.rates import RateEstimate
from agnostics.cli.output import console, print_json, print_table
from agnostics.evaluate.report import EvaluationReport, PairedDifference, compare_evaluations


def show(evaluations: Sequence[EvaluationReport], plot: Path | None, as_json: bool) -> None:
    """Print every evaluation and its difference from the first; plot them into the file `plot` if it is given."""
    baseline, *others = evaluations
    differences = [compare_evaluations(other, baseline) for other in others]
    if as_json:
        reports: dict[str, Any] = {"evaluations": [evaluation.as_dict() for evaluation in evaluations]}
        print_json({**reports, "differences": [asdict(difference) for difference in differences]})
    else:
        for evaluation in evaluations:
            _print_evaluation(evaluation)
        for difference in differences:
            click.echo(_difference_line(difference))
    if plot:
        from agnostics.analysis.plots import plot_rates

        plot_rates([(evaluation.run, evaluation.rates) for evaluation in evaluations], plot)
        console.print(f"plot: {plot}", markup=False)


def _print_evaluation(evaluation: EvaluationReport) -> None:
    run = evaluation.run
    click.echo(f"run {run.run}: {run.model} in {run.language} on {run.dataset}, {run.completions} programs")
    _print_rates("measure", evaluation.rates)
    if evaluation.metrics:
        click.echo()
        _print_rates("metric", evaluation.metrics, "mean")
    for title, rates in (("difficulty", evaluation.by_difficulty), ("tag", evaluation.by_tag)):
        if rates:
            click.echo("\npass@1:")
            _print_rates(title, rates)
    total = sum(evaluation.verdicts.values())
    click.echo()
    print_table(
        ["verdict", "programs", "fraction"],
        ([verdict, count, f"{count / total:.3f}"] for verdict, count in evaluation.verdicts.items()),
    )
    click.echo()


def _print_rates(title: str, rates: Mapping[str, RateEstimate], value: str = "rate") -> None:
    rows = (
        [name, f"{rate.rate:.3f}", f"{rate.low:.3f} to {rate.high:.3f}", rate.tasks] for name, rate in rates.items()
    )
    print_table([title, value, "95 % interval", "tasks"], rows)


def describe_difference(difference: PairedDifference) -> str:
    """A paired difference with its interval and p-value."""
    return (
        f"{difference.mean:+.3f} (95 %: {difference.low:+.3f} to {difference.high:+.3f}), "
        f"p = {difference.p:.2g} on {difference.tasks} tasks"
    )


def _difference_line(difference: PairedDifference) -> str:
    return f"pass@1 of {difference.run} less that of {difference.baseline}: {describe_difference(difference)}"
