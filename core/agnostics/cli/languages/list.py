"""`agn languages list`: each language, where it comes from, and what of it is on this machine."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import click

from agnostics.cli.output import json_option, print_json, print_table
from agnostics.plugins.manager import load_plugins
from agnostics.sandbox.doctor import sandbox_findings
from agnostics.sandbox.toolchain import missing_tools
from agnostics.types.errors import MissingRequirement
from agnostics.types.language import Language

MODES = ("bubblewrap", "docker")


@click.command("list")
@json_option
def list_command(as_json: bool) -> None:
    """Each language, where it comes from, and what of it is on this machine."""
    print_languages(as_json)


@dataclass(frozen=True)
class _Entry:
    """One line of the list. `modes` are those it can run in at once; `missing` are the commands that this machine
    lacks; `image` is None where it is not built, and `base` what it stands on.
    """

    name: str
    origin: str
    version: str | None
    modes: list[str]
    compiles: bool
    missing: list[str]
    image: str | None
    base: str | None
    prompt: str


def print_languages(as_json: bool) -> None:
    """The list, as a table or as JSON."""
    entries = _entries()
    if as_json:
        print_json([asdict(entry) for entry in entries])
        return
    rows = [(e.name, e.origin, e.version, ", ".join(e.modes) or _way_out(e), e.base, e.prompt) for e in entries]
    print_table(["name", "from", "toolchain", "runs here in", "image on", "prompt"], rows)


def _entries() -> list[_Entry]:
    from agnostics.toolchain_versions import toolchain_versions

    plugins = load_plugins()
    languages = sorted(plugins.languages().values(), key=lambda language: language.name)
    images = _images(languages)
    here = {finding.name for finding in sandbox_findings(plugins.sandboxes().values()) if finding.found}
    modes = {one.name: _modes(one, here, built=one.name in images) for one in languages}
    versions: dict[str, str | None] = {}
    for mode in MODES:
        asked = [one for one in languages if mode in modes[one.name] and not versions.get(one.name)]
        versions |= toolchain_versions(asked, mode, plugins.sandboxes()) if asked else {}
    return [
        _entry(one, plugins.origin(one.name), versions.get(one.name), modes[one.name], images.get(one.name))
        for one in languages
    ]


def _entry(
    language: Language, origin: str, version: str | None, modes: list[str], image: tuple[str, str] | None
) -> _Entry:
    name, base = image or (None, None)
    prompt = language.prompt.strip().splitlines()[0]
    missing = missing_tools(language)
    return _Entry(language.name, origin, version, modes, language.compile is not None, missing, name, base, prompt)


def _modes(language: Language, here: set[str], *, built: bool) -> list[str]:
    """The modes in which programs of `language` run here at once, with nothing to be made first."""
    ready = {"bubblewrap": not missing_tools(language), "docker": built}
    return [mode for mode in MODES if mode in here and ready[mode]]


def _images(languages: list[Language]) -> dict[str, tuple[str, str]]:
    """The images that are built, with what they stand on, by language; none where no container engine answers."""
    from agnostics.sandbox.docker_client import connect
    from agnostics.sandbox.images.language_image import built_image, image_base

    try:
        client = connect()
    except MissingRequirement:
        return {}
    names = {language.name: built_image(client, language) for language in languages}
    return {language: (name, image_base(client, name)) for language, name in names.items() if name}


def _way_out(entry: _Entry) -> str:
    return f"none yet: agn languages build {entry.name}"
