"""The slots of docker mode: one warm container for each, with the harness as its first process.

With a container to itself, a slot has a memory limit that the kernel enforces, a fork bomb stays in its slot, and the
end of the container ends every process in it.
"""

from __future__ import annotations

import logging
import random
import shutil
import socket
import tempfile
import time
from contextlib import suppress
from pathlib import Path

from docker import DockerClient
from docker.errors import APIError, DockerException, NotFound
from docker.models.containers import Container
from docker.types import LogConfig
from requests.exceptions import RequestException

from agnostics.sandbox.backend import SlotFactory
from agnostics.sandbox.docker_client import REQUEST_TIMEOUT_S, connect
from agnostics.sandbox.harness_binary import harness_path
from agnostics.sandbox.images.language_image import ensure_image
from agnostics.sandbox.owner import is_dead, owner_labels
from agnostics.sandbox.protocol import handshake
from agnostics.types.errors import AgnosticsError
from agnostics.types.language import Language
from agnostics.types.task import Limits

log = logging.getLogger("agnostics")

START_TIMEOUT_S = 30
"""The time from the start of a container to the first reply of its harness."""
RESERVED_PROCESSES = 4
"""Processes beside the programs' own: the harness, with a margin."""
RAM_DISK = "rw,exec,nosuid,nodev,size=256m,nr_inodes=65536,mode=1777"
CAPABILITIES = ["SETUID", "SETGID", "KILL", "CHOWN", "DAC_OVERRIDE", "FOWNER"]
"""The harness's, to become the slot's user, and to kill its processes and remove its files. Programs have none."""


class DockerSlot:
    """A container with a resident harness, and the connection to it."""

    def __init__(self, container: Container, connection: socket.socket, unenforced: tuple[str, ...]) -> None:
        self.connection = connection
        self.unenforced = unenforced
        self._container = container

    @property
    def container_id(self) -> str:
        """The engine's id of the container."""
        return self._container.id or ""

    def set_limits(self, memory_mb: int, processes: int) -> None:
        """Set the limits of the container; memory includes swap and RAM disks."""
        size = memory_mb << 20
        limits = {"Memory": size, "MemorySwap": size, "PidsLimit": processes + RESERVED_PROCESSES}
        _update(self._container, limits)

    def close(self) -> None:
        """End the harness, and with it the container. Safe to call twice."""
        self.connection.close()
        _remove(self._container)


class DockerSlotFactory(SlotFactory):
    """Starts containers on the engine that answers here. Raises MissingRequirement if none does."""

    def __init__(self) -> None:
        self._client = connect()
        self._engine = self._client.info()
        _remove_leftovers(self._client)

    def start(self, language: Language) -> DockerSlot:
        """Start a container of the language's image, which is built first if it is missing.

        Raises MissingRequirement if the image cannot be built, AgnosticsError if the container does not start.
        """
        image = ensure_image(self._client, language, log.info)
        folder = Path(tempfile.mkdtemp(prefix="agnostics-"))
        try:
            container = self._create(image, folder)
            return DockerSlot(container, _start(container, folder / "socket"), self._unenforced())
        except (DockerException, RequestException) as error:
            raise AgnosticsError(f"the engine cannot run a container of {image}: {error}") from error
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def close(self) -> None:
        """Close the connections to the engine. Safe to call twice."""
        self._client.close()

    def _create(self, image: str, folder: Path) -> Container:
        return self._client.containers.create(
            image,
            command=["--listen", "/run/agnostics/socket", "--uid", str(_slot_uid()), "--cgroup", self._cgroup()],
            entrypoint=["/harness"],
            labels=owner_labels(),
            user="0:0",
            hostname="sandbox",
            working_dir="/w",
            auto_remove=True,
            network_mode="none",
            ipc_mode="none",
            read_only=True,
            cap_drop=["ALL"],
            cap_add=CAPABILITIES,
            security_opt=["no-new-privileges"],
            pids_limit=Limits().processes + RESERVED_PROCESSES,
            environment={"HOME": "/tmp", "TMPDIR": "/tmp", "LANG": "C.UTF-8"},
            log_config=LogConfig(type="none"),
            healthcheck={"test": ["NONE"]},
            tmpfs={"/w": RAM_DISK, "/tmp": RAM_DISK, "/dev/mqueue": "ro,size=4k"},
            volumes={
                str(harness_path()): {"bind": "/harness", "mode": "ro"},
                str(folder): {"bind": "/run/agnostics", "mode": "rw"},
            },
        )

    def _cgroup(self) -> str:
        """The path of a container's own memory cgroup, as seen inside."""
        return "/sys/fs/cgroup" if self._engine.get("CgroupVersion") == "2" else "/sys/fs/cgroup/memory"

    def _unenforced(self) -> tuple[str, ...]:
        return () if self._engine.get("MemoryLimit") else ("memory",)


def _slot_uid() -> int:
    """A random user id for the slot: the kernel counts processes per user across containers."""
    return random.SystemRandom().randrange(30_000, 60_000)


def _start(container: Container, path: Path) -> socket.socket:
    """Start `container` and connect to its harness; if that fails, remove it."""
    try:
        container.start()
        return _connect(container, path)
    except BaseException:
        _remove(container)
        raise


def _connect(container: Container, path: Path) -> socket.socket:
    """Connect to the harness that listens at `path`, and await its reply."""
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        _connect_when_ready(connection, container, path)
        handshake(connection, START_TIMEOUT_S)
    except OSError as error:
        connection.close()
        raise AgnosticsError(f"the harness in container {container.short_id} does not answer: {error}") from error
    return connection


def _connect_when_ready(connection: socket.socket, container: Container, path: Path) -> None:
    """Connect as soon as the harness listens. Raises OSError if it does not in time, or has ended."""
    deadline = time.monotonic() + START_TIMEOUT_S
    while True:
        try:
            return connection.connect(str(path))
        except (FileNotFoundError, PermissionError, ConnectionRefusedError):
            if time.monotonic() > deadline or not _is_alive(container):
                raise
        time.sleep(0.01)


def _is_alive(container: Container) -> bool:
    try:
        container.reload()
    except NotFound:
        return False
    return container.status in {"created", "running"}


def _update(container: Container, limits: dict[str, int]) -> None:
    """Update the limits of `container` in one request; the client's own method has no process limit."""
    assert container.client is not None  # a created container has the client of its engine
    api = container.client.api
    response = api.post(
        f"{api.base_url}/v{api.api_version}/containers/{container.id}/update", json=limits, timeout=REQUEST_TIMEOUT_S
    )
    if not response.ok:
        raise AgnosticsError(f"the engine cannot set the limits of container {container.short_id}: {response.text}")


def _remove(container: Container) -> None:
    """Remove `container`, unless it is gone or being removed."""
    with suppress(APIError, RequestException):
        container.remove(force=True, v=True)


def _remove_leftovers(client: DockerClient) -> None:
    """Remove the containers of dead owners."""
    for container in client.containers.list(all=True, filters={"label": "agnostics.scope"}, ignore_removed=True):
        if is_dead(container.labels):
            _remove(container)
