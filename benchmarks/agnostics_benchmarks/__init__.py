"""Measurements of the parts, as ratios within one run; the plugin that adds `agn bench`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agnostics import hookimpl

if TYPE_CHECKING:
    import click

AGN_CONTRACT = 2


@hookimpl
def agn_commands(group: click.Group) -> None:
    """Add `agn bench`."""
    from agnostics_benchmarks.command import command

    group.add_command(command, "bench")
