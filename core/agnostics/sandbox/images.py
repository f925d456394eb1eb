"""Images: the container image of a language, made once and named after what it is made of."""

from __future__ import annotations

import fcntl
import hashlib
import io
import logging
import os
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from docker import DockerClient
from docker.errors import APIError, ImageNotFound

from agnostics.errors import AgnosticsError, MissingRequirement
from agnostics.language import Language
from agnostics.sandbox.base_image import fetch_base, local_base

log = logging.getLogger("agnostics")

ENGINE_WORDS = ("Step ", " --->", "Removing intermediate container")
"""How lines of a build begin that the engine says, not the command."""

Progress = Callable[[str], None]

STEP_S = 1800
"""How long one step of a build may be silent."""
LOCK_S = 3600
"""How long to wait for another process that makes images."""


def built_image(client: DockerClient, language: Language) -> str | None:
    """The name of the image of `language` where it is there and up to date, else None."""
    base = local_base(client, language.container.base_image)
    if base is None:
        return None
    name = _name(client, language, base)
    return name if _present(client, name) else None


def ensure_image(client: DockerClient, language: Language, progress: Progress) -> str:
    """The name of the image of `language`; made first, with a line of `progress` per step, where it is missing.

    Several processes may ask for one image at once: one makes it, the others wait. Raises MissingRequirement where
    the base image cannot be had or the build fails.
    """
    if image := built_image(client, language):
        return image
    with _one_at_a_time():
        return built_image(client, language) or _make(client, language, progress)


def dockerfile(language: Language, base: str) -> str:
    """The Dockerfile that puts the toolchain of `language` upon the image `base`."""
    return f"FROM {base}\n{language.image_instructions()}\n"


def _make(client: DockerClient, language: Language, progress: Progress) -> str:
    log.warning("making the image of %s; this takes some minutes, once", language.name)
    wanted = language.container.base_image
    base = local_base(client, wanted) or fetch_base(client, wanted, progress)
    name = _name(client, language, base)
    progress(f"building the image {name}")
    _build(client, language, dockerfile(language, base), name, progress)
    return name


def _name(client: DockerClient, language: Language, base: str) -> str:
    recipe = f"{client.images.get(base).id}\n{dockerfile(language, base)}"
    return f"agnostics/{language.name}:{hashlib.sha256(recipe.encode()).hexdigest()[:12]}"


def _present(client: DockerClient, name: str) -> bool:
    try:
        client.images.get(name)
    except ImageNotFound:
        return False
    return True


def _build(client: DockerClient, language: Language, recipe: str, name: str, progress: Progress) -> None:
    """Build on the host's network: a bridge needs a name server of its own, and the packages come from the host's."""
    last = ""
    try:
        steps = client.api.build(
            fileobj=io.BytesIO(recipe.encode()),
            tag=name,
            network_mode="host",
            buildargs=_proxies(),
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
        f"to see all of it, run: agn languages build {language.name}"
    )


@contextmanager
def _one_at_a_time() -> Iterator[None]:
    """Hold the lock that every maker of images on this machine takes."""
    folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "agnostics"
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "images.lock").open("w") as lock:
        deadline = time.monotonic() + LOCK_S
        while not _locked(lock.fileno()):
            if time.monotonic() > deadline:
                raise AgnosticsError(f"another process has been making images for {LOCK_S} s; end it, then try again")
            time.sleep(0.1)
        yield


def _locked(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
