"""`agn results solved`: the fraction of tasks that rejection sampling would solve."""

from __future__ import annotations

from dataclasses import asdict

import click

from agnostics.cli.output import json_option, print_json, print_table
from agnostics.cli.results.reading import reading, store_option
from agnostics.types.errors import UsageError


@click.command()
@click.argument("run")
@click.option(
    "--steps", default=200, show_default=True, type=click.IntRange(min=1), help="The number of steps of a training run."
)
@store_option
@json_option
def solved(run: str, steps: int, store: str | None, as_json: bool) -> None:
    """The fraction of tasks that n attempts solve, for n = 1, 2, 4, … (Appendix A of the paper).

    Estimated from an evaluation, or from the first steps of a training run, when the policy is closest to the initial
    model. RUN is an id, its beginning, or `last`.
    """
    from agnostics.analysis.solved_fractions import solved_fractions
    from agnostics.store.queries.runs import find_run, run_summary
    from agnostics.store.queries.tasks import sample_counts_by_task

    with reading(store) as connection:
        line = run_summary(connection, find_run(connection, run))
        shares = solved_fractions(sample_counts_by_task(connection, line.run, steps), seed=line.seed)
    if not shares:
        raise UsageError(f"run {line.run} has no verified program yet; agn results list shows the programs of each run")
    if as_json:
        print_json([asdict(one) for one in shares])
        return
    rows = ([one.attempts, one.tasks, f"{one.fraction:.3f}", f"{one.low:.3f} to {one.high:.3f}"] for one in shares)
    print_table(["attempts", "tasks", "solved", "95 %"], rows)
