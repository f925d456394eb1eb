"""`agn launch`: runs a command as several ranks on the nodes of a Ray cluster."""

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
@click.option("--ranks", type=click.IntRange(min=1), required=True, help="Processes, one for each GPU or processor.")
def command(address: str, arguments: tuple[str, ...], ranks: int) -> int:
    """Run `agn COMMAND` as several ranks on the nodes of a Ray cluster.

    ADDRESS is `auto` for the cluster of this machine, or HOST:PORT of a Ray client server. Every node needs an
    installation of agnostics and access to the models, data and output folder that the command names.
    """
    from agnostics.sandbox.factory import CLUSTER
    from agnostics.train.launch import launch

    host = address.removeprefix(CLUSTER)
    with reserve_stdout() as results:

        def write_line(stream: Stream, line: str) -> None:
            (results if stream == "stdout" else sys.stderr).write(line)

        return launch("auto" if host == "auto" else CLUSTER + host, ranks, arguments, write_line)
