"""`agn languages build`: the container images of languages."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
from rich.text import Text

from agnostics.cli.output import console
from agnostics.plugins.manager import load_plugins
from agnostics.types.errors import AgnosticsError
from agnostics.types.language import Language

if TYPE_CHECKING:
    from docker import DockerClient


@click.command()
@click.argument("names", nargs=-1)
@click.option("--base", metavar="IMAGE", help="Build upon this image instead of the language's own.")
@click.option("--from-debootstrap", is_flag=True, help="Ask no registry: make the base image from Debian's packages.")
def build(names: tuple[str, ...], base: str | None, from_debootstrap: bool) -> int:
    """Make the container images of the languages NAMES (names or YAML files), or of all.

    An image that is here stays, unless an option asks for another base than it stands on. Where no registry gives the
    base image, one is made from Debian's packages.
    """
    from agnostics.sandbox.docker_client import connect

    plugins = load_plugins()
    languages = [plugins.language(name) for name in names] or list(plugins.languages().values())
    client = connect()
    return max([_build(client, language, base, from_debootstrap) for language in languages], default=0)


def _build(client: DockerClient, language: Language, base: str | None, from_packages: bool) -> int:
    """Make one image; the exit status. One that cannot be made does not keep the others from it."""
    from agnostics.sandbox.images.base_image import BaseImages
    from agnostics.sandbox.images.language_image import bases_of, ensure_image, rebuild_image

    try:
        if base or from_packages:
            bases = BaseImages((base,) if base else bases_of(language).names, from_packages)
            image = rebuild_image(client, language, bases, _tell)
        else:
            image = ensure_image(client, language, _tell)
    except AgnosticsError as error:
        click.echo(f"agn: {error}", err=True)
        return error.exit_code
    click.echo(f"{language.name} {image}")
    return 0


def _tell(line: str) -> None:
    console.print(Text(line), soft_wrap=True)
