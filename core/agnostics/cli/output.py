"""Output of commands: data on stdout (a table for people, JSON for programs), messages on stderr."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from typing import Any, TextIO

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from agnostics.types.errors import UsageError

json_option = click.option("--json", "as_json", is_flag=True, help="JSON on stdout.")

console = Console(stderr=True, highlight=False)
"""The console for progress and messages: stderr."""


@contextmanager
def reserve_stdout() -> Iterator[TextIO]:
    """Stdout for results; in the block, prints of libraries such as Ray go to stderr.

    Raises UsageError if stdout is closed.
    """
    results: TextIO | None = sys.stdout
    if results is None:
        raise UsageError("stdout is closed, so the results would be lost; connect it to a file or a pipe")
    with redirect_stdout(sys.stderr):
        yield results


def print_json(value: Any) -> None:
    """Print a JSON value on one line of stdout."""
    click.echo(json.dumps(value, ensure_ascii=False, default=str))


def print_table(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Print a table. Markup in cells is not interpreted, and control codes are replaced."""
    table = Table(*columns, box=None, header_style="bold", pad_edge=False)
    for row in rows:
        table.add_row(*(Text(plain(cell)) for cell in row))
    stdout = Console(highlight=False)
    if not stdout.is_terminal:
        stdout = Console(highlight=False, width=1000)
    stdout.print(table)


def plain(cell: Any) -> str:
    """A value as text for a terminal, with a replacement character for every control code."""
    text = "" if cell is None else str(cell)
    return "".join(c if c.isprintable() or c in "\n\t" else "\N{REPLACEMENT CHARACTER}" for c in text)
