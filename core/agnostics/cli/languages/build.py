"""`agn languages build`: the container images of languages."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
from rich.text import Text

from agnostics.cli.output import words
from agnostics.errors import AgnosticsError
from agnostics.host import load_host
from agnostics.language import Language

if TYPE_CHECKING:
    from docker import DockerClient


@click.command()
@click.argument("names", nargs=-1)
def build(names: tuple[str, ...]) -> int:
    """Make the container images of the languages NAMES (names or YAML files), or of all; those that are there stay."""
    from agnostics.sandbox.engine import connect

    host = load_host()
    languages = [host.language(name) for name in names] or list(host.languages().values())
    client = connect()
    return max([_build(client, language) for language in languages], default=0)


def _build(client: DockerClient, language: Language) -> int:
    """Make one image; the exit status. One that cannot be made does not keep the others from it."""
    from agnostics.sandbox.images import ensure_image

    try:
        image = ensure_image(client, language, lambda line: words.print(Text(line)))
    except AgnosticsError as error:
        click.echo(f"agn: {error}", err=True)
        return error.exit_code
    click.echo(f"{language.name} {image}")
    return 0
