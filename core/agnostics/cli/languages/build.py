"""`agn languages build`: builds the container images of languages."""

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
@click.option("--base", metavar="IMAGE", help="Build on this base image instead of the language's own.")
@click.option("--from-debootstrap", is_flag=True, help="Build the base image from Debian packages, without a registry.")
def build(names: tuple[str, ...], base: str | None, from_debootstrap: bool) -> int:
    """Build the container images of the languages NAMES (names or YAML files), or of all.

    Existing images are kept, unless an option names another base. If no registry provides the base image, one is built
    from Debian packages.
    """
    from agnostics.sandbox.docker_client import connect

    plugins = load_plugins()
    languages = [plugins.language(name) for name in names] or list(plugins.languages().values())
    client = connect()
    return max([_build(client, language, base, from_debootstrap) for language in languages], default=0)


def _build(client: DockerClient, language: Language, base: str | None, from_packages: bool) -> int:
    """Build one image and return the exit status; an error is printed, so that the other images are built."""
    from agnostics.sandbox.images.base_image import Bases
    from agnostics.sandbox.images.language_image import bases_of, ensure_image, rebuild_image

    try:
        if base or from_packages:
            bases = Bases((base,) if base else bases_of(language).names, from_packages)
            image = rebuild_image(client, language, bases, _print_line)
        else:
            image = ensure_image(client, language, _print_line)
    except AgnosticsError as error:
        click.echo(f"agn: {error}", err=True)
        return error.exit_code
    click.echo(f"{language.name} {image}")
    return 0


def _print_line(line: str) -> None:
    console.print(Text(line), soft_wrap=True)
