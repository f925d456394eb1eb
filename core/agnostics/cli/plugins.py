"""`agn plugins`: what is installed, what it hooks into, and why it failed where it did."""

from __future__ import annotations

from dataclasses import asdict

import click

from agnostics.cli.output import print_json, print_table
from agnostics.plugins.loader import PluginRecord
from agnostics.plugins.manager import PluginManager, load_plugins
from agnostics.types.errors import unknown


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
    plugins = load_plugins()
    _exercise(plugins)
    records = [record for record in plugins.records if package in (record.name, record.distribution)]
    if not records:
        raise unknown("plugin", package, {name for r in plugins.records for name in (r.name, r.distribution)})
    for record in records:
        click.echo(f"{record.name} ({record.distribution} {record.version}): {_summary(record)}")
    return 0 if all(record.status == "active" for record in records) else 1


def _list(as_json: bool) -> None:
    plugins = load_plugins()
    _exercise(plugins)
    if as_json:
        print_json([asdict(record) for record in plugins.records])
        return
    rows = [(r.name, r.distribution, r.version, r.status, " ".join(r.hooks), r.reason) for r in plugins.records]
    print_table(["name", "distribution", "version", "status", "hooks", "reason"], rows)


def _exercise(plugins: PluginManager) -> None:
    """Call every hook that registers something, so that a plugin that fails when called is listed as failed."""
    plugins.languages()
    plugins.datasets()
    plugins.rewards()
    plugins.algorithms()
    plugins.callbacks()
    plugins.add_commands(click.Group())


def _summary(record: PluginRecord) -> str:
    if record.reason:
        return f"{record.status}: {record.reason}"
    return f"{record.status}, implements {', '.join(record.hooks)}"
