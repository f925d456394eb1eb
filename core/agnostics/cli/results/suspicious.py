"""`agn results suspicious`: accepted programs that may be reward hacking."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from agnostics.cli.output import console, json_option, print_json, print_table
from agnostics.cli.results.filters import filter_of, verification_options
from agnostics.cli.results.reading import reading, store_option
from agnostics.util.text import plural

if TYPE_CHECKING:
    from agnostics.analysis.reward_hacking.inspection import Inspection, SuspiciousProgram


@click.command()
@click.argument("run")
@verification_options
@click.option(
    "-n", "count", default=20, show_default=True, type=click.IntRange(min=1), help="The number of detections."
)
@store_option
@json_option
def suspicious(run: str, filters: dict[str, Any], count: int, store: str | None, as_json: bool) -> None:
    """Accepted programs of RUN that look like reward hacking, strongest first; see docs/results-database.md.

    Hard-coded answers, output without reading input, everything printed, an early exit, a lenient comparison, one text
    for several tasks. The check is static: nothing is run and no model is asked. Read the example before you conclude.
    """
    from agnostics.analysis.reward_hacking.inspection import inspect_accepted
    from agnostics.store.database import default_url, store_argument
    from agnostics.store.queries.accepted import accepted_programs

    with reading(store) as connection:
        inspection = inspect_accepted(accepted_programs(connection, filter_of(connection, run, filters)))
    if as_json:
        print_json([asdict(suspect) for suspect in inspection.suspicious[:count]])
    else:
        _print(inspection, count, store_argument(store or default_url()))


def _print(inspection: Inspection, count: int, store: str) -> None:
    detections = plural(len(inspection.suspicious), "detection")
    click.echo(f"{plural(inspection.programs, 'accepted program')}, {detections}")
    if not inspection.suspicious:
        return
    shown = inspection.suspicious[:count]
    print_table(["detection", "reason", "task", "programs", "strength", "example"], map(_line, shown))
    console.print(f"one in full: agn results program {shown[0].completion_id}{store}", markup=False, soft_wrap=True)


def _line(suspect: SuspiciousProgram) -> list[Any]:
    columns = [suspect.name, suspect.reason, suspect.task, suspect.programs]
    return [*columns, f"{suspect.strength:.2f}", suspect.completion_id]
