"""`agn languages show`: the configuration of one language."""

from __future__ import annotations

import click

from agnostics.cli.languages.yaml_text import fields_of, yaml_text
from agnostics.cli.output import json_option, print_json, words
from agnostics.plugins.manager import load_plugins


@click.command()
@click.argument("name")
@json_option
def show(name: str, as_json: bool) -> None:
    """Print the configuration of one language, as YAML that `--language FILE.yaml` takes."""
    language = load_plugins().language(name)
    fields = fields_of(language)
    if as_json:
        print_json({**fields, "reference": sorted(language.reference), "contract": sorted(language.contract)})
    else:
        click.echo(yaml_text(fields), nl=False)
    if language.support_files():
        words.print(f"{language.name} runs with files that its pack brings, and this is without them", markup=False)
