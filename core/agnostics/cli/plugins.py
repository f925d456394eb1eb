"""`agn plugins`: what is installed, what it hooks into, and why it failed where it did."""

from __future__ import annotations

from dataclasses import asdict

import click

from agnostics.cli.output import print_json, print_table
from agnostics.errors import unknown
from agnostics.host import Host, load_host
from agnostics.plugin import PluginRecord


@click.group(invoke_without_command=True)
@click.option("--json", "as_json", is_flag=True, help="One JSON array on stdout.")
@click.pass_context
def command(context: click.Context, as_json: bool) -> None:
    """List and check plugins."""
    if context.invoked_subcommand is None:
        _list(as_json)


@command.command("list")
@click.option("--json", "as_json", is_flag=True, help="One JSON array on stdout.")
def list_command(as_json: bool) -> None:
    """Name, distribution, version, status, hooks and, where it failed, the reason."""
    _list(as_json)


@command.command()
@click.argument("package")
def check(package: str) -> int:
    """Check one plugin, named by its entry point or its distribution; exit status 1 where it fails."""
    host = load_host()
    _exercise(host)
    records = [record for record in host.records if package in (record.name, record.distribution)]
    if not records:
        raise unknown("plugin", package, {name for r in host.records for name in (r.name, r.distribution)})
    for record in records:
        click.echo(f"{record.name} ({record.distribution} {record.version}): {_summary(record)}")
    return 0 if all(record.status == "active" for record in records) else 1


def _list(as_json: bool) -> None:
    host = load_host()
    _exercise(host)
    if as_json:
        print_json([asdict(record) for record in host.records])
        return
    rows = [(r.name, r.distribution, r.version, r.status, " ".join(r.hooks), r.reason) for r in host.records]
    print_table(["name", "distribution", "version", "status", "hooks", "reason"], rows)


def _exercise(host: Host) -> None:
    """Call every hook that registers something, so that a plugin that fails when called is listed as failed."""
    host.languages()
    host.datasets()
    host.rewards()
    host.algorithms()
    host.watchers()
    host.add_commands(click.Group())


def _summary(record: PluginRecord) -> str:
    if record.reason:
        return f"{record.status}: {record.reason}"
    return f"{record.status}, implements {', '.join(record.hooks)}"
