"""Base images of the languages' images: present locally, pulled, or built from Debian packages."""

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

PULL_STALL_TIMEOUT_S = 60
"""The time for which a registry may be silent during a pull."""
BOOTSTRAP_TIMEOUT_S = 900
"""The time for building a Debian system from packages."""
_SETTINGS = (
    "--dpkgopt=force-unsafe-io",
    '--aptopt=Acquire::Languages "none"',
    '--aptopt=Acquire::GzipIndexes "true"',
    '--aptopt=DPkg::Post-Invoke { "rm -f /var/cache/apt/archives/*.deb /var/cache/apt/*.bin || true"; }',
)
"""What Docker's own images of Debian set, too: installing waits for no disk and leaves no packages, and no lists of
packages in full, in the images that are built on it."""


@dataclass(frozen=True)
class BaseImages:
    """Names of base images, the preferred one first; with `from_packages` they are only built from Debian packages."""

    names: tuple[str, ...]
    from_packages: bool = False


def find_base(client: DockerClient, bases: BaseImages, progress: Callable[[str], None]) -> tuple[str, str]:
    """The first of `bases` that is available, and the name of its local image.

    Raises MissingRequirement if none is available.
    """
    failures = []
    for name in bases.names:
        try:
            return name, _built_base(client, name) if bases.from_packages else _fetched_base(client, name, progress)
        except MissingRequirement as error:
            failures.append(str(error))
    raise MissingRequirement("; and in its place: ".join(failures))


def _fetched_base(client: DockerClient, name: str, progress: Callable[[str], None]) -> str:
    return local_base(client, name) or fetch_base(client, name, progress)


def _built_base(client: DockerClient, name: str) -> str:
    suite = _debian_suite(name)
    if suite is None:
        raise MissingRequirement(
            f"{name} is no Debian release, so no packages make it; name one with --base debian:trixie"
        )
    return _if_present(client, _built_name(suite)) or _bootstrap(client, suite)


def local_base(client: DockerClient, name: str) -> str | None:
    """The local image of the base image `name`: itself, or the one built here instead; None if there is neither."""
    suite = _debian_suite(name)
    return _if_present(client, name) or (_if_present(client, _built_name(suite)) if suite else None)


def _if_present(client: DockerClient, name: str) -> str | None:
    try:
        client.images.get(name)
    except ImageNotFound:
        return None
    return name


def fetch_base(client: DockerClient, name: str, progress: Callable[[str], None]) -> str:
    """Pull the base image `name`; if no registry answers and it is a Debian release, build it from packages.

    Returns the name of the local image. Raises MissingRequirement if neither works.
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
    """The Debian release in `name`, as in `debian:trixie` and `docker.io/library/debian:trixie-slim`, or None."""
    match = re.fullmatch(r"(?:docker\.io/)?(?:library/)?debian:([a-z]+)(?:-slim)?", name)
    return match[1] if match else None


def _built_name(suite: str) -> str:
    return f"agnostics/debian:{suite}"


def _pull(client: DockerClient, name: str, progress: Callable[[str], None]) -> str | None:
    """Pull `name`; None on success, else the reason of the failure."""
    events: queue.Queue[str | None] = queue.Queue()
    # The client waits for the engine without limit during a pull, so a second thread enforces the limit.
    threading.Thread(target=_pull_into, args=(client, name, events), daemon=True).start()
    try:
        while (event := events.get(timeout=PULL_STALL_TIMEOUT_S)) is not None:
            if event.startswith("error: "):
                return event.removeprefix("error: ")
            progress(event)
    except queue.Empty:
        return f"silent for {PULL_STALL_TIMEOUT_S} s"
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
    name = _built_name(suite)
    repository, tag = parse_repository_tag(name)
    with tempfile.TemporaryFile() as archive:
        _debootstrap(suite, archive)
        archive.seek(0)
        client.api.import_image_from_data(archive, repository=repository, tag=tag)
    return name


def _debootstrap(suite: str, archive: IO[bytes]) -> None:
    command = ["mmdebstrap", "--quiet", "--variant=minbase", *_SETTINGS, suite, "-", *_mirror()]
    try:
        subprocess.run(command, check=True, stdout=archive, stderr=subprocess.PIPE, timeout=BOOTSTRAP_TIMEOUT_S)
    except subprocess.TimeoutExpired as error:
        raise MissingRequirement(f"mmdebstrap did not make debian:{suite} in {BOOTSTRAP_TIMEOUT_S} s") from error
    except subprocess.CalledProcessError as error:
        last_line = error.stderr.decode(errors="replace").strip().splitlines()[-1:] or ["no message"]
        raise MissingRequirement(
            f"mmdebstrap could not make debian:{suite}: {last_line[0]}; on a machine with access run "
            f"`docker pull debian:{suite}` and bring it with `docker load`, or use --sandbox bubblewrap"
        ) from error


def _mirror() -> list[str]:
    """The mirror of this machine's Debian packages; empty if it does not run Debian."""
    query = ["apt-get", "indextargets", "--format", "$(SITE)", "Created-By: Packages", "Label: Debian"]
    try:
        targets = subprocess.run(query, check=True, capture_output=True, text=True, timeout=30)
    except (OSError, subprocess.SubprocessError):
        return []
    return targets.stdout.split()[:1]
