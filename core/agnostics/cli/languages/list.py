"""`agn languages list`: every language with its origin, toolchain version, modes and image."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import click

from agnostics.cli.output import json_option, print_json, print_table
from agnostics.plugins.manager import load_plugins
from agnostics.sandbox.backend import SandboxBackend
from agnostics.sandbox.doctor import sandbox_findings
from agnostics.sandbox.toolchain import missing_tools
from agnostics.types.errors import MissingRequirement
from agnostics.types.language import Language


@click.command("list")
@json_option
def list_command(as_json: bool) -> None:
    """List every language with its origin, toolchain version, modes and image."""
    print_languages(as_json)


@dataclass(frozen=True)
class _Entry:
    """One line of the list. `modes` are those that it can run in now, `missing` the commands that this machine lacks.

    `image` is None if it is not built; `base` is its base image.
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
    """Print the list as a table or as JSON."""
    entries = _entries()
    if as_json:
        print_json([asdict(entry) for entry in entries])
        return
    rows = [(e.name, e.origin, e.version, ", ".join(e.modes) or _build_hint(e), e.base, e.prompt) for e in entries]
    print_table(["name", "from", "toolchain", "runs here in", "base image", "prompt"], rows)


def _entries() -> list[_Entry]:
    from agnostics.toolchain_versions import toolchain_versions

    plugins = load_plugins()
    languages = sorted(plugins.languages().values(), key=lambda language: language.name)
    images = _images(languages)
    backends = [one for one in plugins.sandboxes().values() if one.priority is not None]
    found = {finding.name for finding in sandbox_findings(backends) if finding.found}
    available = sorted((one for one in backends if one.name in found), key=lambda backend: backend.name)
    modes = {one.name: _modes(one, available, built=one.name in images) for one in languages}
    versions: dict[str, str | None] = {}
    for mode in sorted(found):
        unknown = [one for one in languages if mode in modes[one.name] and not versions.get(one.name)]
        versions |= toolchain_versions(unknown, mode, plugins.sandboxes()) if unknown else {}
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


def _modes(language: Language, available: list[SandboxBackend], *, built: bool) -> list[str]:
    """The modes among `available` in which programs of `language` run now, without a build."""
    installed = not missing_tools(language)
    return [backend.name for backend in available if (installed if backend.uses_host_toolchains else built)]


def _images(languages: list[Language]) -> dict[str, tuple[str, str]]:
    """The built images with their base images, by language; none if no container engine answers."""
    from agnostics.sandbox.docker_client import connect
    from agnostics.sandbox.images.language_image import built_image, image_base

    try:
        client = connect()
    except MissingRequirement:
        return {}
    names = {language.name: built_image(client, language) for language in languages}
    return {language: (name, image_base(client, name)) for language, name in names.items() if name}


def _build_hint(entry: _Entry) -> str:
    return f"none yet: agn languages build {entry.name}"
