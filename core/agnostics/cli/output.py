"""How commands speak: data on stdout (a table for people, JSON for programs), words on stderr."""

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

json_option = click.option("--json", "as_json", is_flag=True, help="JSON on stdout.")

words = Console(stderr=True, highlight=False)
"""Progress and remarks: stderr."""


@contextmanager
def stdout_kept() -> Iterator[TextIO]:
    """Stdout, for results; what libraries print on it in the block (Ray prints what it notices) goes to stderr."""
    results = sys.stdout
    with redirect_stdout(sys.stderr):
        yield results


def print_json(value: Any) -> None:
    """One JSON value on one line of stdout."""
    click.echo(json.dumps(value, ensure_ascii=False, default=str))


def print_table(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """A table for people. Cells are shown as they are: markup and control codes in them do nothing."""
    table = Table(*columns, box=None, header_style="bold", pad_edge=False)
    for row in rows:
        table.add_row(*(Text(plain(cell)) for cell in row))
    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=1000)
    console.print(table)


def plain(cell: Any) -> str:
    """A value as text that is safe on a terminal: control codes can be seen, and do nothing."""
    text = "" if cell is None else str(cell)
    return "".join(c if c.isprintable() or c in "\n\t" else "\N{REPLACEMENT CHARACTER}" for c in text)
