"""`agn results backup`: a consistent copy of the results database."""

from __future__ import annotations

from pathlib import Path

import click

from agnostics.cli.output import json_option, print_json
from agnostics.cli.results.reading import store_option


@click.command()
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@store_option
@json_option
def backup(file: Path, store: str | None, as_json: bool) -> None:
    """Copy the database into FILE, a new SQLite file; runs may write meanwhile.

    A Postgres database becomes an SQLite file too, which every command reads with --store FILE.
    """
    from agnostics.store.backup import back_up
    from agnostics.store.database import default_url
    from agnostics.store.store import Store

    with Store.open(store or default_url(), create=False) as opened:
        back_up(opened.engine, file)
    if as_json:
        print_json({"file": str(file), "bytes": file.stat().st_size})
    else:
        click.echo(str(file))
