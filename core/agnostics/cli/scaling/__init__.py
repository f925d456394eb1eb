"""`agn scaling`: design the runs of a scaling experiment, and fit scaling laws to them."""

from __future__ import annotations

import click

from agnostics.cli.scaling.design import design
from agnostics.cli.scaling.fit import fit


@click.group()
def command() -> None:
    """Design the runs of a scaling experiment, and fit scaling laws to them."""


command.add_command(design)
command.add_command(fit)
