"""`agn languages show`: prints the configuration of one language."""

from __future__ import annotations

import click

from agnostics.cli.languages.yaml_text import fields_of, yaml_text
from agnostics.cli.output import console, json_option, print_json
from agnostics.plugins.manager import load_plugins


@click.command()
@click.argument("name")
@json_option
def show(name: str, as_json: bool) -> None:
    """Print the configuration of one language, as YAML for `--language FILE.yaml`."""
    language = load_plugins().language(name)
    fields = fields_of(language)
    if as_json:
        print_json({**fields, "reference": sorted(language.reference), "contract": sorted(language.contract)})
    else:
        click.echo(yaml_text(fields), nl=False)
    if language.support_files():
        console.print(f"{language.name} needs files of its pack, which are not part of this", markup=False)
