"""`agn session export`: a session as JSON, in the format of the paper's harness."""

from __future__ import annotations

import json
from pathlib import Path

import click

from agnostics.cli.output_files import atomic_text_writer, require_writable
from agnostics.cli.results.reading import reading, store_option


@click.command()
@click.argument("name")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="The output file; stdout if it is not given.")
@click.option("--force", is_flag=True, help="Overwrite an existing file.")
@store_option
def export(name: str, output: Path | None, force: bool, store: str | None) -> None:
    """Export the session NAME as JSON: its problems with their submissions, its totals and its protocol."""
    from agnostics.referee.export import export_session

    if output:
        require_writable(output, force, (".json",))
    with reading(store) as connection:
        text = json.dumps(export_session(connection, name), indent=2, ensure_ascii=False)
    if output is None:
        click.echo(text)
        return
    with atomic_text_writer(output) as file:
        file.write(f"{text}\n")
