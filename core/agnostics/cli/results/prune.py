"""`agn results prune`: delete runs."""

from __future__ import annotations

import sys
from dataclasses import asdict
from datetime import datetime

import click

from agnostics.cli.output import json_option, print_json
from agnostics.cli.results.reading import store_option
from agnostics.types.errors import UsageError
from agnostics.util.text import plural


@click.command()
@click.argument("runs", nargs=-1, metavar="[RUN]...")
@click.option(
    "--before",
    type=click.DateTime(["%Y-%m-%d", "%Y-%m-%dT%H:%M:%S"]),
    help="Also runs that started before this time (UTC).",
)
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@store_option
@json_option
def prune(runs: tuple[str, ...], before: datetime | None, yes: bool, store: str | None, as_json: bool) -> None:
    """Delete each RUN, with the programs and tasks that no other run uses; an SQLite file gets smaller.

    A run that is still in progress fails with an error.
    """
    from agnostics.store import prune
    from agnostics.store.database import default_url, reading
    from agnostics.store.queries.runs import find_run
    from agnostics.store.store import Store

    if not runs and before is None:
        raise UsageError("nothing to delete: name runs, or a date with --before; agn results list shows them")
    with Store.open(store or default_url(), create=False) as opened:
        with reading(opened.engine) as connection:
            named = [find_run(connection, run) for run in runs]
            old = prune.runs_before(connection, before) if before else []
        chosen = list(dict.fromkeys([*named, *old]))
        if chosen and not yes:
            _confirm(chosen)
        result = prune.prune(opened.engine, chosen)
    if as_json:
        print_json({"deleted": chosen, **asdict(result)})
    else:
        click.echo(f"deleted {', '.join(plural(n, name.removesuffix('s')) for name, n in asdict(result).items())}")


def _confirm(runs: list[str]) -> None:
    if not sys.stdin.isatty():
        named = ", ".join(runs[:5]) + (f" and {len(runs) - 5} more" if len(runs) > 5 else "")
        raise UsageError(f"this would delete {named}; confirm with --yes")
    click.echo("\n".join(runs), err=True)
    click.confirm("Delete these for good?", abort=True, err=True)
