"""`agn launch`: a command as several ranks on the nodes of a cluster."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from agnostics.cli.output import reserve_stdout

if TYPE_CHECKING:
    from agnostics.train.launch import Stream


@click.command("launch", context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.argument("address", metavar="ray://ADDRESS")
@click.argument("arguments", nargs=-1, required=True, type=click.UNPROCESSED, metavar="COMMAND...")
@click.option("--ranks", type=click.IntRange(min=1), required=True, help="Processes: one for each GPU, or processor.")
def command(address: str, arguments: tuple[str, ...], ranks: int) -> int:
    """Run `agn COMMAND` as several ranks on the nodes of a Ray cluster.

    ADDRESS is `auto` for the cluster that this machine is part of, or HOST:PORT of a Ray client server. Every node
    needs agnostics installed, and what the command names: models, data, and the folder of runs.
    """
    from agnostics.sandbox.modes import RAY_PREFIX
    from agnostics.train.launch import launch

    host = address.removeprefix(RAY_PREFIX)
    with reserve_stdout() as results:

        def said(stream: Stream, line: str) -> None:
            (results if stream == "stdout" else sys.stderr).write(line)

        return launch("auto" if host == "auto" else RAY_PREFIX + host, ranks, arguments, said)
