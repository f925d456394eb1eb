"""`agn session players`: what can play sessions, and the installation of coding agents."""

from __future__ import annotations

from typing import Any

import click

from agnostics.cli.output import console, json_option, print_json, print_table
from agnostics.plugins.manager import load_plugins


@click.group(invoke_without_command=True)
@json_option
@click.pass_context
def players(context: click.Context, as_json: bool) -> None:
    """Show the players, or install the package of one."""
    if context.invoked_subcommand:
        return
    rows: list[dict[str, Any]] = [
        {"player": name, "installed": player.is_installed, "description": player.description}
        for name, player in sorted(load_plugins().players().items())
    ]
    if as_json:
        print_json(rows)
    else:
        print_table(("player", "installed", ""), ((*row.values(),) for row in rows))


@players.command()
@click.argument("name")
def install(name: str) -> None:
    """Install the coding agent that the player NAME runs, from PyPI or npm, in a folder of its own."""
    player = load_plugins().player(name)
    if player.is_installed:
        click.echo(f"{name} is installed")
        return
    console.print(f"installing {name}: it takes some minutes, and some hundred megabytes", markup=False)
    player.install()
    click.echo(f"{name} is installed now")
