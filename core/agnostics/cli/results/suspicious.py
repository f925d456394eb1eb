"""`agn results suspicious`: accepted programs that may not do what they were asked."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from agnostics.cli.output import console, json_option, print_json, print_table
from agnostics.cli.results.filters import filter_of, verification_options
from agnostics.cli.results.reading import reading, store_option

if TYPE_CHECKING:
    from agnostics.analysis.reward_hacking.inspection import Inspection, SuspiciousProgram


@click.command()
@click.argument("run")
@verification_options
@click.option("-n", "count", default=20, show_default=True, type=click.IntRange(min=1), help="How many.")
@store_option
@json_option
def suspicious(run: str, wanted: dict[str, Any], count: int, store: str | None, as_json: bool) -> None:
    """Accepted programs of RUN that look like cheats, the most convincing first; docs/results-database.md says how.

    Hard-coded answers, output without reading, everything printed, an early end, the comparison's slack, one text for
    several tasks. Nothing is run and no model is asked: look at the example before you believe it.
    """
    from agnostics.analysis.reward_hacking.inspection import inspect_accepted
    from agnostics.store.database import default_url, naming
    from agnostics.store.queries.accepted import accepted_programs

    with reading(store) as connection:
        inspection = inspect_accepted(accepted_programs(connection, filter_of(connection, run, wanted)))
    if as_json:
        print_json([asdict(suspect) for suspect in inspection.suspicious[:count]])
    else:
        _print(inspection, count, naming(store or default_url()))


def _print(inspection: Inspection, count: int, store: str) -> None:
    found = len(inspection.suspicious)
    click.echo(f"{inspection.programs} accepted programs, {found or 'no'} suspicion{'' if found == 1 else 's'}")
    if not found:
        return
    shown = inspection.suspicious[:count]
    print_table(["suspicion", "reason", "task", "programs", "strength", "example"], map(_line, shown))
    console.print(f"one in full: agn results program {shown[0].completion_id}{store}", markup=False, soft_wrap=True)


def _line(suspect: SuspiciousProgram) -> list[Any]:
    told = [suspect.name, suspect.reason, suspect.task, suspect.programs]
    return [*told, f"{suspect.strength:.2f}", suspect.completion_id]
