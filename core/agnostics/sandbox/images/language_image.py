"""The container image of a language, built once; its name holds a digest of its contents."""

from __future__ import annotations

import hashlib
import io
import logging
import os
import re
import shlex
from collections.abc import Callable

from docker import DockerClient
from docker.errors import APIError, ImageNotFound

from agnostics.sandbox.images.base_image import BaseImages, find_base
from agnostics.types.errors import MissingRequirement
from agnostics.types.language import Language
from agnostics.util.locks import exclusive_lock

log = logging.getLogger("agnostics")

ENGINE_PREFIXES = ("Step ", " --->", "Removing intermediate container")
"""The beginnings of lines in a build's output that come from the engine, not from the command."""

Progress = Callable[[str], None]

BUILD_STALL_TIMEOUT_S = 1800
"""The time for which a step of a build may be silent."""


def image_name(language: Language) -> str:
    """The name of the image of `language`, which changes with the language's image settings."""
    return f"agnostics/{language.name}:{_digest(language.container.model_dump_json(), language.image_instructions())}"


def built_image(client: DockerClient, language: Language) -> str | None:
    """The name of the image of `language` if it is present, else None."""
    name = image_name(language)
    return name if _labels(client, name) is not None else None


def image_base(client: DockerClient, name: str) -> str:
    """The base image of the image `name`."""
    return (_labels(client, name) or {}).get("agnostics.base", "unknown")


def ensure_image(client: DockerClient, language: Language, progress: Progress) -> str:
    """The name of the image of `language`; if it is missing it is built, with a line of `progress` for each step.

    If several processes need an image at once, one builds it and the others wait. Raises MissingRequirement if the
    base image is not available or the build fails.
    """
    if image := built_image(client, language):
        return image
    with exclusive_lock("images"):
        return built_image(client, language) or _build_if_changed(client, language, bases_of(language), progress)


def rebuild_image(client: DockerClient, language: Language, bases: BaseImages, progress: Progress) -> str:
    """Build the image of `language` on the first of `bases` that is available, unless it is up to date.

    It replaces the previous image. Raises as `ensure_image`.
    """
    with exclusive_lock("images"):
        return _build_if_changed(client, language, bases, progress)


def bases_of(language: Language) -> BaseImages:
    """The base image of `language`, then its fallback."""
    fallback = language.container.fallback
    return BaseImages((language.container.base_image, *([fallback.base_image] if fallback else [])))


def dockerfile(language: Language, base: str, image: str) -> str:
    """The Dockerfile that installs the toolchain of `language` on `image`, the local name of `base`.

    Its last lines fail the build if a command of the toolchain is missing.
    """
    checks = "".join(f"RUN command -v {shlex.quote(tool)}\n" for tool in language.tools())
    return f"FROM {image}\n{language.image_instructions(base)}\n{checks}"


def _build_if_changed(client: DockerClient, language: Language, bases: BaseImages, progress: Progress) -> str:
    log.warning("making the image of %s; this takes some minutes, once", language.name)
    base, image = find_base(client, bases, progress)
    if base != language.container.base_image:
        log.warning("the image of %s stands on %s, not on %s", language.name, base, language.container.base_image)
    name, recipe = image_name(language), dockerfile(language, base, image)
    content = _digest(str(client.images.get(image).id), recipe)
    if _labels(client, name) != _labels_for(base, content):
        progress(f"building the image {name}")
        _build(client, language, recipe, name, _labels_for(base, content), progress)
    return name


def _digest(*parts: str) -> str:
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:12]


def _labels_for(base: str, content: str) -> dict[str, str]:
    """The labels of an image: its base image, and a digest of its contents."""
    return {"agnostics.base": base, "agnostics.content": content}


def _labels(client: DockerClient, name: str) -> dict[str, str] | None:
    """The labels of an image, None if it is not present."""
    try:
        labels: dict[str, str] = client.images.get(name).labels
    except ImageNotFound:
        return None
    return {key: value for key, value in labels.items() if key.startswith("agnostics.")}


def _build(
    client: DockerClient, language: Language, recipe: str, name: str, labels: dict[str, str], progress: Progress
) -> None:
    """Build on the host's network, whose name server and package mirrors a bridge may not reach."""
    last_line = ""
    try:
        steps = client.api.build(
            fileobj=io.BytesIO(recipe.encode()),
            tag=name,
            network_mode="host",
            buildargs=_proxies(),
            labels=labels,
            rm=True,
            forcerm=True,
            timeout=BUILD_STALL_TIMEOUT_S,
            decode=True,
        )
        for step in steps:
            if "error" in step:
                raise _build_error(language, step["error"], last_line)
            for line in _lines(step.get("stream", "")):
                last_line = last_line if line.startswith(ENGINE_PREFIXES) else line
                progress(line)
    except (APIError, OSError) as error:
        raise _build_error(language, str(error), last_line) from error


def _lines(text: str) -> list[str]:
    """The lines of `text` that are not blank, without the colour codes of the engine's errors."""
    return [line for line in re.sub(r"\x1b\[[0-9;]*m", "", text).splitlines() if line.strip()]


def _proxies() -> dict[str, str]:
    """The proxy settings of this process, for the build only: the engine keeps them out of the image."""
    names = ("http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY")
    return {name: os.environ[name] for name in names if name in os.environ}


def _build_error(language: Language, reason: str, last_line: str) -> MissingRequirement:
    return MissingRequirement(
        f"the image of {language.name} could not be built: {' '.join(reason.split())} (last line: {last_line!r}); "
        f"to see all of it, run: agn languages build {language.name}; without a network, build it on a machine that "
        f"has one and bring it: docker save {image_name(language)}, then docker load"
    )
