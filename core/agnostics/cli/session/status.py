"""`agn session status`: the sessions of a results database, or the problems of one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from agnostics.cli.output import json_option, print_json, print_table
from agnostics.cli.results.reading import reading, store_option

if TYPE_CHECKING:
    from sqlalchemy import Connection


@click.command()
@click.argument("name", required=False)
@store_option
@json_option
def status(name: str | None, store: str | None, as_json: bool) -> None:
    """Show every session with its score, or the problems of the session NAME."""
    with reading(store) as connection:
        if name is None:
            _show_sessions(connection, as_json)
        else:
            _show_session(connection, name, as_json)


def _show_sessions(connection: Connection, as_json: bool) -> None:
    from agnostics.referee.export import session_summaries

    summaries = session_summaries(connection)
    if as_json:
        print_json(summaries)
        return
    columns = ("session", "language", "player", "model", "protocol", "seed", "solved", "final", "problems", "state")
    print_table(columns, ([summary[column] for column in columns] for summary in summaries))


def _show_session(connection: Connection, name: str, as_json: bool) -> None:
    from agnostics.referee.export import export_session

    session = export_session(connection, name)
    if as_json:
        print_json(session)
        return
    columns = ("problem", "tier", "status", "submissions", "runs", "seconds", "")
    print_table(columns, (_row(problem, one) for problem, one in session["problems"].items()))
    totals = session["totals"]
    end = session["end"] or "not finished"
    sealed = "" if session["seed"] is None else f", hidden tests of --reseal {session['seed']}"
    click.echo(f"{session['session']}: {totals['solved']} of {totals['problems']} solved, {end}{sealed}")


def _row(problem: str, one: dict[str, Any]) -> list[Any]:
    passed = ", ".join(f"{submission['passed']}/{submission['total']}" for submission in one["submissions"])
    note = "unsolvable" if one["unsolvable"] else ""
    return [problem, one["tier"], one["status"], passed, one["runs"], f"{one['seconds']:.1f}", note]
