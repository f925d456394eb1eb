"""`agn traces show`: one trace of a file as text, or as a page."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from agnostics.cli.output import console, plain
from agnostics.cli.output_files import require_writable
from agnostics.types.errors import UsageError, unknown_name_error
from agnostics.util.files import atomic_write_text

if TYPE_CHECKING:
    from agnostics.traces.records import TraceRecord


@click.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--id", "wanted", metavar="ID", help="The trace with this id; the first if it is not given.")
@click.option(
    "--format",
    "format_",
    type=click.Choice(["text", "cwm"]),
    default="text",
    show_default=True,
    help="A line for each event, or the text format of the Code World Model.",
)
@click.option("--html", type=click.Path(path_type=Path), metavar="PAGE", help="Write a page that steps through it.")
@click.option("--force", is_flag=True, help="Overwrite an existing page.")
def show(file: Path, wanted: str | None, format_: str, html: Path | None, force: bool) -> None:
    """Show a trace of FILE, which `agn traces make` has written: as text, or as a page.

    The page steps through the program with its locals and its call stack. It is one file, which needs no network.
    """
    from agnostics.traces.cwm_format import render_trace
    from agnostics.traces.page import render_page
    from agnostics.traces.text import text_lines

    record = _find(file, wanted)
    if html:
        require_writable(html, force, (".html",))
        atomic_write_text(html, render_page(record))
        console.print(f"{html}: open it in a browser", markup=False, soft_wrap=True)
        return
    trace = record.trace()
    if trace is None:
        raise UsageError(f"{record.id} has no trace: {record.error}")
    if format_ == "cwm":
        text = render_trace(trace)
        click.echo(plain(text) if sys.stdout.isatty() else text)
    else:
        click.echo(plain("\n".join(text_lines(trace))))


def _find(file: Path, wanted: str | None) -> TraceRecord:
    from agnostics.traces.records import read_records

    ids: list[str] = []
    for record in read_records(file):
        if wanted is None or record.id == wanted:
            return record
        ids.append(record.id)
    if wanted is None:
        raise UsageError(f"{file}: no trace is in it")
    raise unknown_name_error("trace", wanted, ids)
