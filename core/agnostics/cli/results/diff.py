"""`agn results diff`: the differences between two runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from agnostics.cli.output import json_option, plain, print_json, print_table
from agnostics.cli.results.reading import reading, store_option
from agnostics.util.text import plural

if TYPE_CHECKING:
    from agnostics.evaluate.comparison import Pair, PhaseComparison, RunComparison
    from agnostics.store.queries.runs import EvalScore

_WHEN = {
    "eval_before": "before training",
    "train": "in training",
    "eval_during": "validation",
    "eval_after": "at the end",
    "eval": "at the end",
}

_WIDEST = 60


@click.command()
@click.argument("one", metavar="RUN")
@click.argument("other", metavar="RUN")
@click.option(
    "-n",
    "count",
    default=10,
    show_default=True,
    type=click.IntRange(min=0),
    help="The number of tasks won and lost to list.",
)
@store_option
@json_option
def diff(one: str, other: str, count: int, store: str | None, as_json: bool) -> None:
    """Compare two runs: settings, pass@1, tasks won and lost, verdicts, and the curves at equal steps.

    Each is a training run or an evaluation; an evaluation is compared with the final evaluation of a training run.
    """
    from agnostics.evaluate.comparison import compare_runs
    from agnostics.store.queries.runs import find_run

    with reading(store) as connection:
        comparison = compare_runs(connection, find_run(connection, one), find_run(connection, other))
    if as_json:
        print_json(comparison.as_dict())
    else:
        _print(comparison, count)


def _print(comparison: RunComparison, count: int) -> None:
    from agnostics.cli.report import describe, thinned

    names = [run.run for run in comparison.runs]
    for run in comparison.runs:
        click.echo(plain(describe(run)))
    click.echo()
    if comparison.settings:
        print_table(["setting", *names], ([name, *map(_short, both)] for name, both in comparison.settings.items()))
    else:
        click.echo("no setting differs")
    if comparison.measures:
        click.echo()
        print_table(["pass@1", *names, "change", "95 % interval", "p", "tasks"], map(_measured, comparison.measures))
    for measure in comparison.measures:
        _print_tasks(measure, count)
    for phase, shares in comparison.verdicts.items():
        click.echo()
        print_table([f"verdict {_WHEN[phase]}", *names, "change"], ([v, *_changed(both)] for v, both in shares.items()))
    if comparison.curve:
        ones, others = (thinned([pair[side] for pair in comparison.curve]) for side in (0, 1))
        steps = ([a.name, *_changed((a.rate, b.rate))] for a, b in zip(ones, others, strict=True))
        click.echo()
        print_table(["pass rate in step", *names, "change"], steps)
    if comparison.held_out:
        click.echo()
        rows = ([step, *_changed(both)] for step, both in comparison.held_out.items())
        print_table(["held-out pass@1 after step", *names, "change"], rows)


def _short(setting: Any) -> str:
    text = "" if setting is None else " ".join(str(setting).split())
    return text if len(text) <= _WIDEST else f"{text[:_WIDEST]}…"


def _measured(measure: PhaseComparison) -> list[Any]:
    change = measure.difference
    interval = f"{change.low:+.3f} to {change.high:+.3f}"
    when = _WHEN[measure.scores[0].phase]
    return [when, *map(_rate, measure.scores), f"{change.mean:+.3f}", interval, f"{change.p:.2g}", change.tasks]


def _rate(score: EvalScore) -> str:
    low, high = score.interval
    return f"{score.pass_at_1:.3f} ({low:.3f} to {high:.3f})"


def _print_tasks(measure: PhaseComparison, count: int) -> None:
    run, baseline = measure.difference.run, measure.difference.baseline
    when = _WHEN[measure.scores[0].phase]
    for solver, loser, tasks in ((run, baseline, measure.won), (baseline, run, measure.lost)):
        if tasks:
            more = f" and {len(tasks) - count} more" if len(tasks) > count else ""
            solved = f"{plural(len(tasks), 'task')} that {solver} solves {when} and {loser} does not"
            click.echo(plain(f"{solved}: {', '.join(tasks[:count])}{more}"))


def _changed(both: Pair) -> Sequence[str]:
    return f"{both[0]:.3f}", f"{both[1]:.3f}", f"{both[1] - both[0]:+.3f}"
