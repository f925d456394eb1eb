"""`agn results serve`: the results database as pages for a browser."""

from __future__ import annotations

import click

from agnostics.cli.output import console
from agnostics.cli.results.reading import store_option
from agnostics.types.errors import MissingRequirement


@click.command()
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to answer at.")
@click.option(
    "--port", default=8000, show_default=True, type=click.IntRange(0, 65535), help="0 takes any that is free."
)
@store_option
def serve(host: str, port: int, store: str | None) -> None:
    """Show the results database in a browser, read only, until Ctrl-C.

    Other machines are answered only where --host says so, and then only who has the token that is printed.
    """
    from agnostics.store.database import default_url
    from agnostics.store.reader import Reader

    try:
        from agnostics.web.server import Site
    except ModuleNotFoundError as error:
        raise MissingRequirement(f"{error.name} is not installed; run: pip install 'agnostics[serve]'") from error
    with Reader.open(store or default_url()) as reader:
        site = Site(reader, host, port)
        if site.needs_token:
            console.print("whoever has the token in this address sees everything; nothing is encrypted")
        click.echo(site.url)
        site.serve()
