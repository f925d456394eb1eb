"""`agn results export`: verifications as JSON Lines, CSV or Parquet."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from agnostics.cli.output_files import require_writable
from agnostics.cli.results.filters import filter_of, verification_options
from agnostics.cli.results.reading import reading, store_option
from agnostics.types.errors import UsageError
from agnostics.util.files import atomic_write

_FORMATS = ("jsonl", "csv", "parquet")


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

    The columns are those of the view `verifications`. RUN may name one phase of a run, as in last:eval_after.
    """
    from agnostics.store.export import FORMATS
    from agnostics.store.verifications import verification_rows
    from agnostics.store.views import VerificationRow

    if output:
        require_writable(output, force, [f".{name}" for name in _FORMATS])
        if format_ and output.suffix != f".{format_}":
            raise UsageError(f"{output}: name a file that ends in .{format_}, or leave out --format")
    elif format_ == "parquet" and sys.stdout.isatty():
        raise UsageError("--format: Parquet is binary; name a file with --output")
    write = FORMATS[output.suffix.removeprefix(".") if output else format_ or "jsonl"]
    with reading(store) as connection:
        rows = verification_rows(connection, filter_of(connection, run, filters))
        if output:
            with atomic_write(output) as file:
                write(VerificationRow, rows, file)
        else:
            write(VerificationRow, rows, sys.stdout.buffer)
            sys.stdout.flush()
