"""`agn languages list`: each language, where it comes from, and what of it is on this machine."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import click

from agnostics.cli.output import json_option, print_json, print_table
from agnostics.errors import MissingRequirement
from agnostics.host import load_host
from agnostics.language import Language
from agnostics.sandbox.doctor import missing_tools

if TYPE_CHECKING:
    from docker import DockerClient


@click.command("list")
@json_option
def list_command(as_json: bool) -> None:
    """Each language, where it comes from, and what of it is on this machine."""
    print_languages(as_json)


@dataclass(frozen=True)
class _Entry:
    """One line of the list. `missing` are the commands that this machine lacks; `image` is None where there is none."""

    name: str
    origin: str
    compiles: bool
    missing: list[str]
    image: str | None
    prompt: str


def print_languages(as_json: bool) -> None:
    """The list, as a table or as JSON."""
    host = load_host()
    client = _engine()
    entries = [_entry(language, host.origin(name), client) for name, language in sorted(host.languages().items())]
    if as_json:
        print_json([asdict(entry) for entry in entries])
        return
    rows = [
        (e.name, e.origin, "yes" if e.compiles else "", _toolchain(e.missing), e.image or "not built", e.prompt)
        for e in entries
    ]
    print_table(["name", "from", "compiled", "toolchain here", "image", "prompt"], rows)


def _entry(language: Language, origin: str, client: DockerClient | None) -> _Entry:
    from agnostics.sandbox.images import built_image

    return _Entry(
        language.name,
        origin,
        language.compile is not None,
        missing_tools(language),
        built_image(client, language) if client else None,
        language.prompt.strip().splitlines()[0],
    )


def _engine() -> DockerClient | None:
    """The container engine, where one answers: without one no image is built."""
    from agnostics.sandbox.engine import connect

    try:
        return connect()
    except MissingRequirement:
        return None


def _toolchain(missing: list[str]) -> str:
    return f"no {', '.join(missing)}" if missing else "yes"
