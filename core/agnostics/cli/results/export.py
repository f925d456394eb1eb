"""`agn results export`: verifications as JSON Lines, CSV or Parquet, and accepted completions for `agn sft`."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from agnostics.cli.output import console
from agnostics.cli.output_files import require_writable
from agnostics.cli.results.filters import filter_of, verification_options
from agnostics.cli.results.reading import reading, store_option
from agnostics.types.errors import UsageError
from agnostics.util.files import atomic_write
from agnostics.util.text import plural

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from agnostics.store.filters import VerificationFilter

_SFT = "sft"
_FORMATS = ("jsonl", "csv", "parquet", _SFT)
_SUFFIXES = {_SFT: ("jsonl", "parquet"), None: ("jsonl", "csv", "parquet")}


@click.command()
@click.argument("run", required=False)
@verification_options
@click.option("-o", "--output", type=click.Path(path_type=Path), help="The output file; its suffix selects the format.")
@click.option("--format", "format_", type=click.Choice(_FORMATS), help="The format on stdout; jsonl by default.")
@click.option("--force", is_flag=True, help="Overwrite an existing file.")
@store_option
def export(
    run: str | None, filters: dict[str, Any], output: Path | None, format_: str | None, force: bool, store: str | None
) -> None:
    """Export the verifications of RUN, or of every run, as JSON Lines, CSV or Parquet.

    The columns are those of the view `verifications`: of an episode, the last action alone. RUN may name one phase of a
    run, as in last:eval_after.

    --format sft exports examples for `agn sft`: accepted programs with their prompts, each once, and accepted episodes
    as conversations, of training unless a phase is named. They are JSON Lines, or Parquet with --output.
    """
    from agnostics.store.export import FORMATS

    suffixes = _SUFFIXES.get(format_, (str(format_),))
    if output:
        require_writable(output, force, [f".{name}" for name in suffixes])
    elif format_ == "parquet" and sys.stdout.isatty():
        raise UsageError("--format: Parquet is binary; name a file with --output")
    write = FORMATS[output.suffix.removeprefix(".") if output else suffixes[0]]
    with reading(store) as connection:
        where = filter_of(connection, run, filters)
        row_type, rows = _examples(connection, where) if format_ == _SFT else _verifications(connection, where)
        if output:
            counted = _Counted(rows)
            with atomic_write(output) as file:
                write(row_type, counted, file)
            if format_ == _SFT:
                console.print(f"{output}: {plural(counted.rows, 'example')}", markup=False, soft_wrap=True)
        else:
            write(row_type, rows, sys.stdout.buffer)
            sys.stdout.flush()


class _Counted:
    """Rows that are counted as they are read."""

    def __init__(self, rows: Iterable[Any]) -> None:
        self._rows, self.rows = rows, 0

    def __iter__(self) -> Iterator[Any]:
        for row in self._rows:
            self.rows += 1
            yield row


def _verifications(connection: Connection, where: VerificationFilter) -> tuple[type[Any], Iterable[Any]]:
    from agnostics.store.verifications import verification_rows
    from agnostics.store.views import VerificationRow

    return VerificationRow, verification_rows(connection, where)


def _examples(connection: Connection, where: VerificationFilter) -> tuple[type[Any], Iterable[Any]]:
    """Examples of training tasks unless `where` says otherwise: held-out tasks must not be trained on by accident."""
    from agnostics.plugins.manager import load_plugins
    from agnostics.train.sft.examples import SftExample, accepted_examples

    return SftExample, accepted_examples(connection, replace(where, phase=where.phase or "train"), load_plugins())
