"""Docker mode: one warm container per slot, with the harness as its first process.

A slot has a container to itself, so that its memory limit is the kernel's own, one program's bomb cannot take another
slot with it, and what ends the container ends everything that ran in it.
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

from agnostics.sandbox.docker_client import ANSWER_S, connect
from agnostics.sandbox.harness_binary import harness_path
from agnostics.sandbox.images.language_image import ensure_image
from agnostics.sandbox.owner import current_owner, has_died
from agnostics.sandbox.protocol import greet
from agnostics.types.errors import AgnosticsError
from agnostics.types.language import Language
from agnostics.types.task import Limits

log = logging.getLogger("agnostics")

START_S = 30
"""How long a container may take until its harness answers."""
OWN_PROCESSES = 4
"""The harness itself, with room to spare."""
RAM_DISK = "rw,exec,nosuid,nodev,size=256m,nr_inodes=65536,mode=1777"
CAPABILITIES = ["SETUID", "SETGID", "KILL", "CHOWN", "DAC_OVERRIDE", "FOWNER"]
"""What the harness needs to become the slot's user, and to kill and clear up after it. Programs have none."""


class DockerSlot:
    """A container with a resident harness, and the connection to it."""

    def __init__(self, container: Container, connection: socket.socket, unenforced: tuple[str, ...]) -> None:
        self.connection = connection
        self.unenforced = unenforced
        self._container = container

    @property
    def container_id(self) -> str:
        """The container, as the engine names it."""
        return self._container.id or ""

    def set_limits(self, memory_mb: int, processes: int) -> None:
        """Set what all that runs in the container may use, swap and RAM disks included."""
        size = memory_mb << 20
        limits = {"Memory": size, "MemorySwap": size, "PidsLimit": processes + OWN_PROCESSES}
        _update(self._container, limits)

    def close(self) -> None:
        """End the harness, and with it the container. Safe to call twice."""
        self.connection.close()
        _remove(self._container)


class DockerBackend:
    """Slots in containers of the engine that answers here. Raises MissingRequirement where none does."""

    mode = "docker"

    def __init__(self) -> None:
        self._client = connect()
        self._engine = self._client.info()
        _remove_leftovers(self._client)

    def start(self, language: Language) -> DockerSlot:
        """A new container of the language's image, which is made first where it is missing.

        Raises MissingRequirement where the image cannot be made, AgnosticsError where the container does not start.
        """
        image = ensure_image(self._client, language, log.info)
        folder = Path(tempfile.mkdtemp(prefix="agnostics-"))
        try:
            container = self._create(image, folder)
            return DockerSlot(container, _started(container, folder / "socket"), self._unenforced())
        except (DockerException, RequestException) as error:
            raise AgnosticsError(f"the engine cannot run a container of {image}: {error}") from error
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def close(self) -> None:
        """Forget the engine. Safe to call twice."""
        self._client.close()

    def _create(self, image: str, folder: Path) -> Container:
        return self._client.containers.create(
            image,
            command=["--listen", "/run/agnostics/socket", "--uid", str(_slot_uid()), "--cgroup", self._cgroup()],
            entrypoint=["/harness"],
            labels=current_owner(),
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
            pids_limit=Limits().processes + OWN_PROCESSES,
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
        """Where a container sees its own memory cgroup."""
        return "/sys/fs/cgroup" if self._engine.get("CgroupVersion") == "2" else "/sys/fs/cgroup/memory"

    def _unenforced(self) -> tuple[str, ...]:
        return () if self._engine.get("MemoryLimit") else ("memory",)


def _slot_uid() -> int:
    """A user of the slot's own: the kernel counts processes per user, whatever container they are in."""
    return random.SystemRandom().randrange(30_000, 60_000)


def _started(container: Container, path: Path) -> socket.socket:
    """Start `container` and connect to the harness in it. It is removed where that fails."""
    try:
        container.start()
        return _connect(container, path)
    except BaseException:
        _remove(container)
        raise


def _connect(container: Container, path: Path) -> socket.socket:
    """The connection to the harness that listens at `path`, once it has answered."""
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        _dial(connection, container, path)
        greet(connection, START_S)
    except OSError as error:
        connection.close()
        raise AgnosticsError(f"the harness in container {container.short_id} does not answer: {error}") from error
    return connection


def _dial(connection: socket.socket, container: Container, path: Path) -> None:
    """Connect as soon as the harness listens. Raises OSError where it does not, or has ended."""
    deadline = time.monotonic() + START_S
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
    """Update `container` in one request; the client's own method knows no process limit."""
    assert container.client is not None  # a container that an engine made has that engine's client
    api = container.client.api
    answer = api.post(
        f"{api.base_url}/v{api.api_version}/containers/{container.id}/update", json=limits, timeout=ANSWER_S
    )
    if not answer.ok:
        raise AgnosticsError(f"the engine cannot set the limits of container {container.short_id}: {answer.text}")


def _remove(container: Container) -> None:
    """Remove `container`; one that is gone, or going, is fine."""
    with suppress(APIError, RequestException):
        container.remove(force=True, v=True)


def _remove_leftovers(client: DockerClient) -> None:
    """Remove the containers whose owners have died without removing them."""
    for container in client.containers.list(all=True, filters={"label": "agnostics.scope"}, ignore_removed=True):
        if has_died(container.labels):
            _remove(container)
