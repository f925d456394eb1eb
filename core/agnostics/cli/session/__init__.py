"""`agn session`: players that go through the problems of a data set in one language under a protocol."""

from __future__ import annotations

import click

from agnostics.cli.session.export import export
from agnostics.cli.session.players import players
from agnostics.cli.session.report import report
from agnostics.cli.session.run import run
from agnostics.cli.session.status import status


@click.group()
def command() -> None:
    """Run agent sessions, show, export and report them."""


for subcommand in (run, status, export, report, players):
    command.add_command(subcommand)
