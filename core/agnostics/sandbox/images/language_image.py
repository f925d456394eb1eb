"""Images: the container image of a language, made once and named after what it is made of."""

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

from agnostics.sandbox.images.base_image import Bases, find_base
from agnostics.types.errors import MissingRequirement
from agnostics.types.language import Language
from agnostics.util.locks import exclusive_lock

log = logging.getLogger("agnostics")

ENGINE_WORDS = ("Step ", " --->", "Removing intermediate container")
"""How lines of a build begin that the engine says, not the command."""

Progress = Callable[[str], None]

STEP_S = 1800
"""How long one step of a build may be silent."""


def image_name(language: Language) -> str:
    """The name of the image of `language`, which changes with what the language says of its image."""
    return f"agnostics/{language.name}:{_digest(language.container.model_dump_json(), language.image_instructions())}"


def built_image(client: DockerClient, language: Language) -> str | None:
    """The name of the image of `language` where it is here, else None."""
    name = image_name(language)
    return name if _labels(client, name) is not None else None


def image_base(client: DockerClient, name: str) -> str:
    """The base image that the image `name` was built upon."""
    return (_labels(client, name) or {}).get("agnostics.base", "unknown")


def ensure_image(client: DockerClient, language: Language, progress: Progress) -> str:
    """The name of the image of `language`; made first, with a line of `progress` per step, where it is missing.

    Several processes may ask for one image at once: one makes it, the others wait. Raises MissingRequirement where
    the base image cannot be had or the build fails.
    """
    if image := built_image(client, language):
        return image
    with exclusive_lock("images"):
        return built_image(client, language) or _make(client, language, bases_of(language), progress)


def rebuild_image(client: DockerClient, language: Language, bases: Bases, progress: Progress) -> str:
    """Make the image of `language` upon the first of `bases` that can be had, unless it is that already.

    It takes the place of the one that was there. Raises as `ensure_image`.
    """
    with exclusive_lock("images"):
        return _make(client, language, bases, progress)


def bases_of(language: Language) -> Bases:
    """The base image of `language`, then the one that stands in for it."""
    fallback = language.container.fallback
    return Bases((language.container.base_image, *([fallback.base_image] if fallback else [])))


def dockerfile(language: Language, base: str, image: str) -> str:
    """The Dockerfile that puts the toolchain of `language` upon `image`, which is what `base` is called here.

    Its last lines fail the build where a command of the toolchain did not come with it.
    """
    checks = "".join(f"RUN command -v {shlex.quote(tool)}\n" for tool in language.tools())
    return f"FROM {image}\n{language.image_instructions(base)}\n{checks}"


def _make(client: DockerClient, language: Language, bases: Bases, progress: Progress) -> str:
    log.warning("making the image of %s; this takes some minutes, once", language.name)
    base, image = find_base(client, bases, progress)
    if base != language.container.base_image:
        log.warning("the image of %s stands on %s, not on %s", language.name, base, language.container.base_image)
    name, recipe = image_name(language), dockerfile(language, base, image)
    content = _digest(str(client.images.get(image).id), recipe)
    if _labels(client, name) != _labels_of(base, content):
        progress(f"building the image {name}")
        _build(client, language, recipe, name, _labels_of(base, content), progress)
    return name


def _digest(*parts: str) -> str:
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:12]


def _labels_of(base: str, content: str) -> dict[str, str]:
    """What an image says of itself: its base image, and what it was made of."""
    return {"agnostics.base": base, "agnostics.content": content}


def _labels(client: DockerClient, name: str) -> dict[str, str] | None:
    """The labels of an image, None where it is not here."""
    try:
        labels: dict[str, str] = client.images.get(name).labels
    except ImageNotFound:
        return None
    return {key: value for key, value in labels.items() if key.startswith("agnostics.")}


def _build(
    client: DockerClient, language: Language, recipe: str, name: str, labels: dict[str, str], progress: Progress
) -> None:
    """Build on the host's network: a bridge needs a name server of its own, and the packages come from the host's."""
    last = ""
    try:
        steps = client.api.build(
            fileobj=io.BytesIO(recipe.encode()),
            tag=name,
            network_mode="host",
            buildargs=_proxies(),
            labels=labels,
            rm=True,
            forcerm=True,
            timeout=STEP_S,
            decode=True,
        )
        for step in steps:
            if "error" in step:
                raise _unbuilt(language, step["error"], last)
            for line in _lines(step.get("stream", "")):
                last = last if line.startswith(ENGINE_WORDS) else line
                progress(line)
    except (APIError, OSError) as error:
        raise _unbuilt(language, str(error), last) from error


def _lines(text: str) -> list[str]:
    """The lines of `text` that say something, without the colour that the engine gives to errors."""
    return [line for line in re.sub(r"\x1b\[[0-9;]*m", "", text).splitlines() if line.strip()]


def _proxies() -> dict[str, str]:
    """The proxy settings of this process, for the build only: the engine leaves these out of the image."""
    names = ("http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY")
    return {name: os.environ[name] for name in names if name in os.environ}


def _unbuilt(language: Language, reason: str, last: str) -> MissingRequirement:
    return MissingRequirement(
        f"the image of {language.name} could not be built: {' '.join(reason.split())} (last words: {last!r}); "
        f"to see all of it, run: agn languages build {language.name}; without a network, build it on a machine that "
        f"has one and bring it: docker save {image_name(language)}, then docker load"
    )
