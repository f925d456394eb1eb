"""`agn db`: the schema version of the results database, and its migration."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from agnostics.cli.output import print_json

if TYPE_CHECKING:
    from sqlalchemy import Engine

_store = click.option("--store", metavar="URL", help="The results database; the one in your data folder by default.")


_json = click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")


@click.group(invoke_without_command=True)
@_store
@_json
@click.pass_context
def command(context: click.Context, store: str | None, as_json: bool) -> int:
    """Check and migrate the results database."""
    context.default_map = {"status": {"store": store, "as_json": as_json}, "upgrade": {"store": store}}
    return 0 if context.invoked_subcommand else int(context.invoke(status, store=store, as_json=as_json))


@command.command()
@_store
@_json
def status(store: str | None, as_json: bool) -> int:
    """Show the schema version of the database and the newest one; exit status 1 if they differ."""
    from agnostics.store.database import display_url
    from agnostics.store.version import newest_version, version_of

    engine = _engine(store)
    version, newest = version_of(engine), newest_version()
    if as_json:
        print_json({"store": display_url(engine.url), "schema": version, "newest": newest})
    else:
        click.echo(f"{display_url(engine.url)}: schema {version or 'none'}, newest {newest}")
    return 0 if version == newest else 1


@command.command()
@_store
def upgrade(store: str | None) -> None:
    """Migrate the database to the newest schema; create it if it does not exist."""
    from agnostics.store.database import display_url
    from agnostics.store.version import newest_version, upgrade, version_of

    engine = _engine(store)
    before = version_of(engine)
    upgrade(engine)
    migrated = f"migrated from {before} to" if before else "created with schema"
    outcome = "is up to date" if before == newest_version() else f"{migrated} {newest_version()}"
    click.echo(f"{display_url(engine.url)}: {outcome}")


def _engine(store: str | None) -> Engine:
    from agnostics.store.database import connect, default_url, parse_url

    return connect(parse_url(store or default_url()))
