"""The slots of docker mode: one warm container for each, with the harness as its first process.

With a container to itself, a slot has a memory limit that the kernel enforces, a fork bomb stays in its slot, and the
end of the container ends every process in it.
"""

from __future__ import annotations

import logging
import shutil
import socket
import struct
import tempfile
import time
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from pathlib import Path

from docker import DockerClient
from docker.errors import APIError, DockerException, NotFound
from docker.models.containers import Container
from docker.types import LogConfig
from docker.types import Mount as DockerMount
from requests.exceptions import RequestException

from agnostics.sandbox.backend import SlotFactory
from agnostics.sandbox.cgroups import await_freed_memory, counters_of, harness_descriptors
from agnostics.sandbox.docker_client import REQUEST_TIMEOUT_S, connect
from agnostics.sandbox.harness_binary import container_filter, harness_path, hold_library_path
from agnostics.sandbox.images.language_image import ensure_image
from agnostics.sandbox.images.root_image import ensure_root_image
from agnostics.sandbox.masked_paths import docker_masked_paths
from agnostics.sandbox.owner import is_dead, make_owned_folder, owner_labels, remove_leftover_folders
from agnostics.sandbox.protocol import handshake
from agnostics.sandbox.slot_options import SlotOptions
from agnostics.sandbox.slot_users import HOLDER, SlotUser
from agnostics.sandbox.toolchain import TOOLCHAIN_PATH
from agnostics.sandbox.user_namespaces import is_root_of_machine, user_map
from agnostics.types.errors import AgnosticsError
from agnostics.types.language import Language
from agnostics.types.task import Limits

log = logging.getLogger("agnostics")

START_TIMEOUT_S = 30
"""The time from the start of a container to the first reply of its harness."""
RESERVED_PROCESSES = 7
"""Tasks beside the programs' own: the harness's threads, the fork server and what kills for it, with a margin."""
_SHARED = "/run/agnostics"
"""A folder in the container, with the harness and its socket while the slot starts; removed before any program runs."""
_CREDENTIALS = struct.Struct("3i")
"""Process, user and group (SO_PEERCRED)."""
RAM_DISK = "rw,exec,nosuid,nodev,size=256m,nr_inodes=65536,mode=1777"
CAPABILITIES = ["SETUID", "SETGID", "KILL", "CHOWN", "DAC_OVERRIDE", "FOWNER"]
"""The harness's, to become the slot's user, and to kill its processes and remove its files. Programs have none."""


class DockerSlot:
    """A container of `runtime` with a resident harness, and the connection to it."""

    def __init__(
        self,
        container: Container,
        connection: socket.socket,
        counters: list[Path],
        unenforced: tuple[str, ...],
        runtime: str | None,
        held: ExitStack,
    ) -> None:
        self.connection = connection
        self.unenforced = unenforced
        self._container = container
        self._counters = counters
        self._runtime = runtime
        self._held = held

    @property
    def container_id(self) -> str:
        """The engine's id of the container."""
        return self._container.id or ""

    def set_limits(self, memory_mb: int, processes: int) -> None:
        """Set the limits of the container; memory includes swap and RAM disks.

        A runtime that was asked for may have no limits that change, as gVisor's: then the harness watches memory.
        """
        size = memory_mb << 20
        await_freed_memory(self._counters, memory_mb)
        limits = {"Memory": size, "MemorySwap": size, "PidsLimit": processes + RESERVED_PROCESSES}
        try:
            _update(self._container, limits)
        except AgnosticsError:
            if not self._runtime:
                raise
            self.unenforced = ("memory", "processes")

    def close(self) -> None:
        """End the harness, and with it the container. Safe to call twice."""
        self.connection.close()
        _remove(self._container)
        self._held.close()


class DockerSlotFactory(SlotFactory):
    """Starts containers of `runtime` on the engine that answers here. Raises MissingRequirement if none does."""

    def __init__(self, runtime: str | None = None) -> None:
        self._runtime = runtime
        self._client = connect()
        self._engine = self._client.info()
        self._has_warned = False
        _remove_leftovers(self._client)

    def start(self, language: Language) -> DockerSlot:
        """Start a container of the language's image, which is built first if it is missing.

        Raises MissingRequirement if the image cannot be built, AgnosticsError if the container does not start.
        """
        return self.start_with(language, SlotOptions())

    def start_with(self, language: Language, options: SlotOptions) -> DockerSlot:
        """Start a container with mounts, a loopback network or another root. Raises as `start`."""
        root_image = ensure_root_image(self._client, options.root) if options.root else None
        image = root_image or ensure_image(self._client, language, log.info)
        folder = make_owned_folder(Path(tempfile.gettempdir()))
        try:
            with ExitStack() as users:
                user, root = users.enter_context(SlotUser()), users.enter_context(SlotUser())
                container = self._create(language, options, image, folder, user, root)
                connection, counters = self._start(container, folder / "shared" / "socket", root)
                (folder / "shared").chmod(0o700)  # the container keeps it, also when it is removed here
                self._warn_of_root(_peer(connection))
                return DockerSlot(container, connection, counters, self._unenforced(), self._runtime, users.pop_all())
        except (DockerException, RequestException) as error:
            raise AgnosticsError(f"the engine cannot run a container of {image}: {error}") from error
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def close(self) -> None:
        """Close the connections to the engine. Safe to call twice."""
        self._client.close()

    def _create(
        self, language: Language, slot_options: SlotOptions, image: str, folder: Path, user: SlotUser, root: SlotUser
    ) -> Container:
        """A container whose programs are `user`, and whose harness is `root` of this machine where engines allow it."""
        api = self._client.api
        binds: dict[str, Mapping[str, str]] = {str(_shared_folder(folder)): {"bind": _SHARED, "mode": "rw"}}
        if language.fork_server:
            shutil.copy(hold_library_path(), folder / "hold.so")
            binds[str(folder / "hold.so")] = {"bind": "/hold.so", "mode": "ro"}
        for mount in slot_options.mounts:
            mount.give_to(user.uid, root.uid)
        disk = f"{RAM_DISK},uid={root.uid},gid={root.uid}"
        host = api.create_host_config(
            auto_remove=True,
            runtime=self._runtime,
            network_mode="none",
            ipc_mode="none",
            read_only=True,
            cap_drop=["ALL"],
            cap_add=CAPABILITIES,
            security_opt=["no-new-privileges", f"seccomp={container_filter(slot_options.loopback)}"],
            pids_limit=Limits().processes + RESERVED_PROCESSES,
            log_config=LogConfig(type="none"),
            tmpfs={"/w": disk, "/tmp": disk, "/dev/mqueue": "ro,size=4k"},
            binds=binds,
            mounts=[
                DockerMount(mount.target, str(mount.source), "bind", read_only=True) for mount in slot_options.mounts
            ],
        )
        hold_library = ["--hold-library", "/hold.so"] if language.fork_server else []
        loopback = ["--loopback"] if slot_options.loopback else []
        options = ["--uid", str(user.uid), *self._cgroup_options(), *hold_library, *loopback]
        users = ["--join", "--users-if-allowed", user_map(root.uid, user.uid, HOLDER), "--"]
        harness = f"{_SHARED}/harness"
        created = api.create_container(
            image,
            command=[*users, harness, "--listen", f"{_SHARED}/socket", *options],
            entrypoint=[harness],
            labels=owner_labels(),
            user="0:0",
            hostname="sandbox",
            working_dir="/w",
            environment={"HOME": "/tmp", "TMPDIR": "/tmp", "LANG": "C.UTF-8", **self._path(image, slot_options)},
            healthcheck={"test": ["NONE"]},
            volumes=[bind["bind"] for bind in binds.values()],
            host_config={**host, "MaskedPaths": docker_masked_paths()},
        )
        return self._client.containers.get(created["Id"])

    def _path(self, image: str, options: SlotOptions) -> dict[str, str]:
        """The variable PATH with the folders of the options before those of the image."""
        own = [item for item in self._client.images.get(image).attrs["Config"]["Env"] or () if item.startswith("PATH=")]
        folders = own[0].removeprefix("PATH=") if own else TOOLCHAIN_PATH
        return {"PATH": ":".join([*options.path, folders])} if options.path else {}

    def _cgroup_options(self) -> list[str]:
        """The harness's options with the paths of the container's own groups, as seen inside."""
        root = "/sys/fs/cgroup"
        if self._engine.get("CgroupVersion") == "2":
            return ["--cgroup", root, "--cpu-cgroup", root]
        return ["--cgroup", f"{root}/memory", "--cpu-cgroup", f"{root}/cpuacct"]

    def _warn_of_root(self, process: int) -> None:
        """Say once if the engine or the kernel allows no user namespace; not of a runtime with a kernel of its own."""
        if not self._has_warned and not self._runtime and is_root_of_machine(process):
            self._has_warned = True
            log.warning("root in a container is root of this machine here; agn doctor says what allows user namespaces")

    def _start(self, container: Container, path: Path, root: SlotUser) -> tuple[socket.socket, list[Path]]:
        """Start `container` and connect to its harness; if that fails, remove it.

        Returns the connection, and the folders of the groups that count it.
        """
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            container.start()
            return connection, _connect(connection, container, path, root, own_kernel=bool(self._runtime))
        except BaseException:
            connection.close()
            _remove(container)
            raise

    def _unenforced(self) -> tuple[str, ...]:
        return () if self._engine.get("MemoryLimit") else ("memory",)


def _shared_folder(folder: Path) -> Path:
    """The folder that a container shares, with the harness in it. In the container its root may be any user of this
    machine, to whom others have no way: `folder` is this user's alone."""
    shared = folder / "shared"
    shared.mkdir()
    shared.chmod(0o777)
    shutil.copy(harness_path(), shared / "harness")  # programs see where mounts come from: not from here
    return shared


def _connect(
    connection: socket.socket, container: Container, path: Path, root: SlotUser, own_kernel: bool
) -> list[Path]:
    """Connect to the harness that listens at `path`, and await its reply. Returns the folders of the groups that count
    the container, none if it has a kernel of its own."""
    try:
        _connect_when_ready(connection, container, path)
        process = _peer(connection)
        counters = [] if own_kernel else counters_of(process)
        user = 0 if is_root_of_machine(process) else root.uid
        handshake(connection, START_TIMEOUT_S, harness_descriptors(counters, user))
    except OSError as error:
        raise AgnosticsError(f"the harness in container {container.short_id} does not answer: {error}") from error
    return counters


def _peer(connection: socket.socket) -> int:
    """The process that listened for a connection, as this one sees it; 0 if it does not. The engine's own number may be
    another process here, where this process is in a container itself."""
    credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    process: int = _CREDENTIALS.unpack(credentials)[0]
    return process


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
    """Remove the containers of dead owners, and the folders of those that ended while a container started."""
    remove_leftover_folders(Path(tempfile.gettempdir()))
    for container in client.containers.list(all=True, filters={"label": "agnostics.scope"}, ignore_removed=True):
        if is_dead(container.labels):
            _remove(container)
