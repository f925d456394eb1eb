"""Base images: what a language's image stands on; here already, pulled, or made from Debian's packages."""

from __future__ import annotations

import queue
import re
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import IO

from docker import DockerClient
from docker.errors import DockerException, ImageNotFound
from docker.utils import parse_repository_tag

from agnostics.types.errors import MissingRequirement

STALL_S = 60
"""How long a registry may be silent during a pull."""
BOOTSTRAP_S = 900
"""How long making a Debian system from packages may take."""


@dataclass(frozen=True)
class Bases:
    """Base images, the best first; with `from_packages` only such as are made here from Debian's packages."""

    names: tuple[str, ...]
    from_packages: bool = False


def find_base(client: DockerClient, bases: Bases, progress: Callable[[str], None]) -> tuple[str, str]:
    """The first of `bases` that is here or can be had, and what the image is called here.

    Raises MissingRequirement where none can be had.
    """
    failures = []
    for name in bases.names:
        try:
            return name, _made_base(client, name) if bases.from_packages else _any_base(client, name, progress)
        except MissingRequirement as error:
            failures.append(str(error))
    raise MissingRequirement("; and in its place: ".join(failures))


def _any_base(client: DockerClient, name: str, progress: Callable[[str], None]) -> str:
    return local_base(client, name) or fetch_base(client, name, progress)


def _made_base(client: DockerClient, name: str) -> str:
    suite = _debian_suite(name)
    if suite is None:
        raise MissingRequirement(
            f"{name} is no Debian release, so no packages make it; name one with --base debian:trixie"
        )
    return _present(client, _home_made(suite)) or _bootstrap(client, suite)


def local_base(client: DockerClient, name: str) -> str | None:
    """The local image that stands for the base image `name`: itself, or the one made here in its place."""
    suite = _debian_suite(name)
    return _present(client, name) or (_present(client, _home_made(suite)) if suite else None)


def _present(client: DockerClient, name: str) -> str | None:
    try:
        client.images.get(name)
    except ImageNotFound:
        return None
    return name


def fetch_base(client: DockerClient, name: str, progress: Callable[[str], None]) -> str:
    """Pull the base image `name`, or make it from packages where it is a Debian release and no registry answers.

    Returns the name of the local image. Raises MissingRequirement where neither works.
    """
    progress(f"pulling {name}")
    failure = _pull(client, name, progress)
    if failure is None:
        return name
    suite = _debian_suite(name)
    if suite is None:
        raise MissingRequirement(
            f"the base image {name} is not here and no registry gives it ({failure}); "
            f"on a machine with access run `docker pull {name}`, or bring it with `docker load`"
        )
    progress(f"no registry gives {name} ({failure}); making it from Debian's packages")
    return _bootstrap(client, suite)


def _debian_suite(name: str) -> str | None:
    """The Debian release that `name` asks for, as in `debian:trixie` and `docker.io/library/debian:trixie-slim`."""
    match = re.fullmatch(r"(?:docker\.io/)?(?:library/)?debian:([a-z]+)(?:-slim)?", name)
    return match[1] if match else None


def _home_made(suite: str) -> str:
    return f"agnostics/debian:{suite}"


def _pull(client: DockerClient, name: str, progress: Callable[[str], None]) -> str | None:
    """Pull `name`; None when it is here, else what went wrong."""
    events: queue.Queue[str | None] = queue.Queue()
    # The client waits for the engine without limit during a pull, so the limit has to be kept from outside.
    threading.Thread(target=_pull_into, args=(client, name, events), daemon=True).start()
    try:
        while (event := events.get(timeout=STALL_S)) is not None:
            if event.startswith("error: "):
                return event.removeprefix("error: ")
            progress(event)
    except queue.Empty:
        return f"silent for {STALL_S} s"
    return None


def _pull_into(client: DockerClient, name: str, events: queue.Queue[str | None]) -> None:
    repository, tag = parse_repository_tag(name)
    try:
        for event in client.api.pull(repository, tag=tag or "latest", stream=True, decode=True):
            events.put(f"error: {event['error']}" if "error" in event else event.get("status", ""))
        events.put(None)
    except (DockerException, OSError) as error:
        events.put(f"error: {getattr(error, 'explanation', None) or error}")


def _bootstrap(client: DockerClient, suite: str) -> str:
    if shutil.which("mmdebstrap") is None:
        raise MissingRequirement(
            f"no registry answers, and making debian:{suite} from packages needs mmdebstrap; "
            "run: apt-get install mmdebstrap"
        )
    name = _home_made(suite)
    repository, tag = parse_repository_tag(name)
    with tempfile.TemporaryFile() as archive:
        _debootstrap(suite, archive)
        archive.seek(0)
        client.api.import_image_from_data(archive, repository=repository, tag=tag)
    return name


def _debootstrap(suite: str, archive: IO[bytes]) -> None:
    command = ["mmdebstrap", "--quiet", "--variant=minbase", suite, "-", *_mirror()]
    try:
        subprocess.run(command, check=True, stdout=archive, stderr=subprocess.PIPE, timeout=BOOTSTRAP_S)
    except subprocess.TimeoutExpired as error:
        raise MissingRequirement(f"mmdebstrap did not make debian:{suite} in {BOOTSTRAP_S} s") from error
    except subprocess.CalledProcessError as error:
        last = error.stderr.decode(errors="replace").strip().splitlines()[-1:] or ["no message"]
        raise MissingRequirement(
            f"mmdebstrap could not make debian:{suite}: {last[0]}; on a machine with access run "
            f"`docker pull debian:{suite}` and bring it with `docker load`, or use --sandbox bubblewrap"
        ) from error


def _mirror() -> list[str]:
    """The mirror that this machine installs Debian's packages from; empty where it is no Debian machine."""
    query = ["apt-get", "indextargets", "--format", "$(SITE)", "Created-By: Packages", "Label: Debian"]
    try:
        answer = subprocess.run(query, check=True, capture_output=True, text=True, timeout=30)
    except (OSError, subprocess.SubprocessError):
        return []
    return answer.stdout.split()[:1]
