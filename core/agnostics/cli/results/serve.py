"""`agn results serve`: the results pages, for a browser."""

from __future__ import annotations

import click

from agnostics.cli.output import console
from agnostics.cli.results.reading import store_option
from agnostics.types.errors import MissingRequirement


@click.command()
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option("--port", default=8000, show_default=True, type=click.IntRange(0, 65535), help="0 selects a free port.")
@store_option
def serve(host: str, port: int, store: str | None) -> None:
    """Serve the results database to a browser, read-only, until Ctrl-C.

    By default only this machine has access. With another --host, requests need the token in the printed address.
    """
    from agnostics.store.database import default_url
    from agnostics.store.read_only import ReadOnlyStore

    try:
        from agnostics.web.server import ResultsServer
    except ModuleNotFoundError as error:
        raise MissingRequirement(f"{error.name} is not installed; run: pip install 'agnostics[serve]'") from error
    with ReadOnlyStore.open(store or default_url()) as opened:
        server = ResultsServer(opened, host, port)
        if server.needs_token:
            console.print("the token in this address gives access to everything; the connection is not encrypted")
        click.echo(server.url)
        server.serve()
