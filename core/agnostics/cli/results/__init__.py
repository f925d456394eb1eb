"""`agn results`: list, show and compare runs, inspect their programs, and query the database in SQL."""

from __future__ import annotations

import itertools
import os
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from agnostics.cli.output import console, json_option, print_json, print_table
from agnostics.cli.results.backup import backup
from agnostics.cli.results.diff import diff
from agnostics.cli.results.episodes import episodes
from agnostics.cli.results.export import export
from agnostics.cli.results.failures import failures
from agnostics.cli.results.filters import run_options
from agnostics.cli.results.programs import program, programs
from agnostics.cli.results.prune import prune
from agnostics.cli.results.reading import reading, store_option
from agnostics.cli.results.serve import serve
from agnostics.cli.results.solved import solved
from agnostics.cli.results.suspicious import suspicious
from agnostics.cli.results.themes import find_themes, themes
from agnostics.types.errors import MissingRequirement, UsageError

if TYPE_CHECKING:
    from agnostics.store.filters import RunFilter
    from agnostics.store.queries.runs import RunSummary

MOST_ROWS = 1000
_GRACE_S = 1.0
"""The time that a query has to end by itself, after its limit."""


@click.group(invoke_without_command=True)
@store_option
@json_option
@click.pass_context
def command(context: click.Context, store: str | None, as_json: bool) -> None:
    """Query the results database: list, show and compare runs, inspect their programs, or run SQL."""
    context.default_map = {name: {"store": store, "as_json": as_json} for name in command.commands}
    if context.invoked_subcommand is None:
        context.invoke(list_command, store=store, as_json=as_json)


@command.command("list")
@run_options
@store_option
@json_option
def list_command(run_filter: RunFilter, store: str | None, as_json: bool) -> None:
    """The runs, newest first."""
    from agnostics.store.queries.runs import list_runs

    with reading(store) as connection:
        runs = list_runs(connection, run_filter)
    if as_json:
        print_json([run.as_dict() for run in runs])
        return
    columns = ["run", "started", "status", "language", "model", "dataset", "steps", "programs", "pass@1"]
    print_table(columns, (_line(run) for run in runs))


@command.command()
@click.argument("run")
@store_option
@json_option
def show(run: str, store: str | None, as_json: bool) -> None:
    """Summarize RUN: pass@1, verdicts, training curve, hardest tasks. RUN is an id, its beginning, or `last`."""
    from agnostics.cli.report import print_report, report_of

    with reading(store) as connection:
        report = report_of(connection, run)
    if as_json:
        print_json(report.as_dict())
    else:
        print_report(report)


@command.command()
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
@click.option("--out", type=click.Path(path_type=Path), default=Path("plots"), show_default=True, help="A folder.")
@click.option("--format", "format_", type=click.Choice(["png", "svg", "both"]), default="both", show_default=True)
@store_option
@json_option
def plot(runs: tuple[str, ...], out: Path, format_: str, store: str | None, as_json: bool) -> None:
    """Plot the curves of each RUN, and all of them side by side; prints the paths of the files."""
    from agnostics.analysis.curves import loss_curves, run_curves
    from agnostics.store.queries.runs import find_run, run_summary

    with reading(store) as connection:
        ids = dict.fromkeys(find_run(connection, run) for run in runs)
        supervised = [run for run in ids if run_summary(connection, run).kind == "sft"]
        curves = [run_curves(connection, run) for run in ids if run not in supervised]
        losses = [loss_curves(connection, run) for run in supervised]
    try:
        from agnostics.analysis.plots import plot_runs
    except ModuleNotFoundError as error:
        raise MissingRequirement(f"{error.name} is not installed; run: pip install 'agnostics[plot]'") from error
    paths = plot_runs(curves, losses, out, ["png", "svg"] if format_ == "both" else [format_])
    if as_json:
        print_json([str(path) for path in paths])
        return
    click.echo("\n".join(map(str, paths)))


@command.command()
@click.argument("sql")
@store_option
@json_option
@click.option(
    "--seconds",
    type=click.FloatRange(min=0, min_open=True),
    default=30.0,
    show_default=True,
    help="The time limit of the query.",
)
def query(sql: str, store: str | None, as_json: bool, seconds: float) -> None:
    """Run a read-only SQL query. With --json, one object per row and line.

    The tables and views are documented in docs/results-database.md.
    """
    from agnostics.store.database import default_url, parse_url
    from agnostics.store.store import Store
    from agnostics.store.user_sql import late_error, run_sql

    url = store or default_url()
    Store.open(url, create=False).close()
    with _ended_after(seconds + _GRACE_S, late_error(seconds)), run_sql(parse_url(url), sql, seconds=seconds) as result:
        if as_json:
            _print_lines(result.columns, result.rows)
        else:
            _print_rows(result.columns, result.rows)


@contextmanager
def _ended_after(seconds: float, error: UsageError) -> Iterator[None]:
    """End this program with `error` when the time is up, whatever it is in the middle of."""

    def end() -> None:
        click.echo(f"agn: {error}", err=True)
        os._exit(error.exit_code)

    timer = threading.Timer(seconds, end)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


READING = (serve, diff, programs, program, episodes, export, suspicious, solved, failures, themes, find_themes)
for subcommand in (*READING, prune, backup):
    command.add_command(subcommand)


def _print_lines(columns: Iterable[str], rows: Iterable[Iterable[Any]]) -> None:
    from agnostics.store.records import sanitize

    for row in rows:
        print_json(sanitize(dict(zip(columns, row, strict=True))))


def _print_rows(columns: Iterable[str], rows: Iterator[Any]) -> None:
    print_table([*columns], list(itertools.islice(rows, MOST_ROWS)))
    if next(rows, None) is not None:
        console.print(f"only the first {MOST_ROWS} rows are shown; --json prints all")


def _line(run: RunSummary) -> list[Any]:
    passed = " → ".join(f"{rate:.2f}" for rate in run.pass_at_1.values())
    started = f"{run.started_at:%Y-%m-%d %H:%M}"
    return [run.run, started, run.status, run.language, run.model, run.dataset, run.steps, run.completions, passed]
