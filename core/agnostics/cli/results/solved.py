"""`agn results solved`: the share of tasks that rejection sampling would solve."""

from __future__ import annotations

from dataclasses import asdict

import click

from agnostics.cli.output import json_option, print_json, print_table
from agnostics.cli.results.reading import reading, store_option
from agnostics.types.errors import UsageError


@click.command()
@click.argument("run")
@click.option(
    "--steps", default=200, show_default=True, type=click.IntRange(min=1), help="How many steps of a training run."
)
@store_option
@json_option
def solved(run: str, steps: int, store: str | None, as_json: bool) -> None:
    """The share of tasks that n attempts solve, for n = 1, 2, 4, … (Appendix A of the paper).

    Taken from an evaluation, or from the first steps of a training run, when the policy is closest to the model that it
    began with. RUN is an id, its beginning, or `last`.
    """
    from agnostics.analysis.solved_fractions import solved_fractions
    from agnostics.store.queries.attempts import attempts_by_task
    from agnostics.store.queries.runs import find_run, run_line

    with reading(store) as connection:
        line = run_line(connection, find_run(connection, run))
        fractions = solved_fractions(attempts_by_task(connection, line.run, steps), seed=line.seed)
    if not fractions:
        raise UsageError(f"run {line.run} has judged no program yet; agn results list says which have")
    if as_json:
        print_json([asdict(one) for one in fractions])
        return
    rows = ([one.attempts, one.tasks, f"{one.fraction:.3f}", f"{one.low:.3f} to {one.high:.3f}"] for one in fractions)
    print_table(["attempts", "tasks", "solved", "95 %"], rows)
