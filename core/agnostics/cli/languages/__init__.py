"""`agn languages`: lists, shows, creates, builds, checks and improves languages."""

from __future__ import annotations

import click

from agnostics.cli.languages.advise import advise
from agnostics.cli.languages.build import build
from agnostics.cli.languages.check import check
from agnostics.cli.languages.list import list_command, print_languages
from agnostics.cli.languages.new import new
from agnostics.cli.languages.show import show
from agnostics.cli.output import json_option


@click.group(invoke_without_command=True)
@json_option
@click.pass_context
def command(context: click.Context, as_json: bool) -> None:
    """List, show, create, build and check languages."""
    if context.invoked_subcommand is None:
        print_languages(as_json)


for subcommand in (list_command, show, new, build, check, advise):
    command.add_command(subcommand)
