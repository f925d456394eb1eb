"""`agn traces`: make execution traces, and show them."""

from __future__ import annotations

import click

from agnostics.cli.traces.make import make
from agnostics.cli.traces.show import show


@click.group()
def command() -> None:
    """Trace programs: what they do, step by step, with their locals."""


for subcommand in (make, show):
    command.add_command(subcommand)
