"""`agn results suspicious`: programs that may be reward hacking, of a run or of an agent session."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from agnostics.cli.output import console, json_option, print_json, print_table
from agnostics.cli.results.filters import filter_of, verification_options
from agnostics.cli.results.reading import reading, store_option
from agnostics.types.errors import UsageError
from agnostics.util.text import plural

if TYPE_CHECKING:
    from agnostics.analysis.reward_hacking.inspection import Inspection, SuspiciousProgram
    from agnostics.analysis.reward_hacking.session_inspection import SessionInspection, SuspiciousSubmission


@click.command()
@click.argument("run", required=False)
@click.option("--session", metavar="NAME", help="An agent session in place of a run; no filter applies to it.")
@verification_options
@click.option(
    "-n", "count", default=20, show_default=True, type=click.IntRange(min=1), help="The number of detections."
)
@store_option
@json_option
def suspicious(
    run: str | None, session: str | None, filters: dict[str, Any], count: int, store: str | None, as_json: bool
) -> None:
    """Accepted programs of RUN that look like reward hacking, strongest first; see docs/results-database.md.

    Hard-coded answers, output without reading input, everything printed, an early exit, a lenient comparison, one text
    for several tasks. The check is static: nothing is run and no model is asked. Read the example before you conclude.
    Of an agent session all submissions are checked, and its refused operations are listed.
    """
    if (run is None) == (session is None):
        raise UsageError("name either a run or an agent session: agn results suspicious RUN, or --session NAME")
    if session is not None and any(filters.values()):
        raise UsageError("--session takes no filters: all submissions of the session are checked")
    if session is not None:
        _show_session(session, count, store, as_json)
    elif run is not None:
        _show_run(run, filters, count, store, as_json)


def _show_run(run: str, filters: dict[str, Any], count: int, store: str | None, as_json: bool) -> None:
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


def _show_session(name: str, count: int, store: str | None, as_json: bool) -> None:
    from agnostics.analysis.agent_sessions.shown import session_texts
    from agnostics.analysis.reward_hacking.session_inspection import inspect_session
    from agnostics.referee.session_rows import find_session

    with reading(store) as connection:
        inspection = inspect_session(session_texts(connection, find_session(connection, name)))
    if as_json:
        refused = [asdict(operation) for operation in inspection.refused]
        print_json({"suspicious": [asdict(one) for one in inspection.suspicious[:count]], "refused": refused})
    else:
        _print_session(inspection, count)


def _print_session(inspection: SessionInspection, count: int) -> None:
    detections = plural(len(inspection.suspicious), "detection")
    refused = plural(sum(one.times for one in inspection.refused), "refused operation")
    click.echo(f"{plural(inspection.submissions, 'submission')}, {detections}, {refused}")
    if inspection.suspicious:
        columns = ["detection", "reason", "problem", "submission", "solved", "strength"]
        print_table(columns, map(_submission_line, inspection.suspicious[:count]))
    if inspection.refused:
        click.echo()
        columns = ["refused", "reason", "times", "by a rule"]
        print_table(columns, ([one.operation, one.reason, one.times, _yes(one.by_rule)] for one in inspection.refused))


def _submission_line(one: SuspiciousSubmission) -> list[Any]:
    return [one.name, one.reason, one.problem, one.attempt, _yes(one.solved), f"{one.strength:.2f}"]


def _yes(value: bool) -> str:
    return "yes" if value else "no"
