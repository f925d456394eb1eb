"""`agn languages show`: the configuration of one language."""

from __future__ import annotations

from typing import Any

import click

from agnostics.cli.output import json_option, print_json
from agnostics.host import load_host


@click.command()
@click.argument("name")
@json_option
def show(name: str, as_json: bool) -> None:
    """Print the configuration of one language, as YAML that `--language FILE.yaml` takes."""
    language = load_host().language(name)
    fields = language.model_dump(mode="json", by_alias=True, exclude_defaults=True, exclude={"reference"})
    if as_json:
        print_json({**fields, "reference": sorted(language.reference)})
    else:
        click.echo(_yaml(fields), nl=False)


def _yaml(fields: dict[str, Any]) -> str:
    """`fields` as YAML in their order, texts of several lines as they stand."""
    import yaml

    class Dumper(yaml.SafeDumper):
        pass

    def text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
        return dumper.represent_scalar("tag:yaml.org,2002:str", value, style="|" if "\n" in value else None)

    Dumper.add_representer(str, text)
    return yaml.dump(fields, Dumper=Dumper, sort_keys=False, allow_unicode=True, width=120)
