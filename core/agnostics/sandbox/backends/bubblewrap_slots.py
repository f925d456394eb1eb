"""The slots of bubblewrap mode: a harness in namespaces, with the host's toolchains read-only and no network.

Slots do not share a namespace: the harness, as the first process of its own, ends all processes of a program with one
signal, and a fork bomb stays in its slot. As root each slot's programs run as a user of their own; without root they
run as the harness's user, and the harness protects the program's files itself (harness/products.c).
"""

from __future__ import annotations

import os
import random
import shutil
import socket
import subprocess
from pathlib import Path

from agnostics.sandbox.backend import SlotFactory
from agnostics.sandbox.cgroups import SlotGroup, find_parent_groups, remove_leftovers
from agnostics.sandbox.harness_binary import harness_path
from agnostics.sandbox.protocol import handshake
from agnostics.sandbox.toolchain import TOOLCHAIN_PATH, require_toolchain
from agnostics.types.errors import AgnosticsError, MissingRequirement
from agnostics.types.language import Language
from agnostics.util.text import first_line

START_TIMEOUT_S = 20
RAM_DISK_BYTES = 256 << 20
RAM_DISK_INODES = 65536
RESERVED_PROCESSES = 4
"""Processes beside the programs' own: the harness and bwrap, with a margin."""
CAPABILITIES = ("SETUID", "SETGID", "KILL", "CHOWN", "DAC_OVERRIDE", "FOWNER", "SETPCAP", "SYS_ADMIN")
"""The harness's; it drops the last two, which it needs to start, before the first program."""
TOOLCHAIN_FOLDERS = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt")
ETC_ENTRIES = (
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "alternatives",
    "R",
    "julia",
    "fonts",
    "localtime",
    "mime.types",
    "ocamlfind.conf",
)
"""The parts of /etc that toolchains need."""


class BubblewrapSlot:
    """A bwrap process with the harness inside it."""

    def __init__(self, process: subprocess.Popen[bytes], connection: socket.socket, group: SlotGroup) -> None:
        self.connection = connection
        self.unenforced = group.unenforced
        self._process = process
        self._group = group

    def set_limits(self, memory_mb: int, processes: int) -> None:
        """Limit the slot's group."""
        self._group.set_limits(memory_mb, processes + RESERVED_PROCESSES)

    def close(self) -> None:
        """Kill bwrap, which ends the harness and all processes in its namespace."""
        self.connection.close()
        self._process.kill()
        self._process.wait(timeout=START_TIMEOUT_S)
        if self._process.stderr:
            self._process.stderr.close()
        self._group.close()


class BubblewrapSlotFactory(SlotFactory):
    """Starts bwrap processes. Raises MissingRequirement if bwrap or the harness is missing."""

    def __init__(self) -> None:
        _require_bwrap()
        self._groups = find_parent_groups()
        self._harness = harness_path()
        remove_leftovers(self._groups)

    def start(self, language: Language) -> BubblewrapSlot:
        """Start a slot. Raises MissingRequirement if the toolchain is not installed or bwrap reports an error."""
        require_toolchain(language)
        group = SlotGroup(self._groups)
        ours, theirs = socket.socketpair()
        try:
            with theirs:
                process = self._launch(group, theirs)
            return BubblewrapSlot(process, _await_harness(process, ours), group)
        except BaseException:
            ours.close()
            group.close()
            raise

    def _launch(self, group: SlotGroup, connection: socket.socket) -> subprocess.Popen[bytes]:
        join = [str(self._harness), "--join", *map(str, group.procs_files), "--"]
        return subprocess.Popen(
            [*join, *self._bwrap_args(group), "/harness", *_harness_options(group, connection.fileno())],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            pass_fds=[connection.fileno()],
            start_new_session=True,
            env={"PATH": os.environ.get("PATH", TOOLCHAIN_PATH)},
        )

    def _bwrap_args(self, group: SlotGroup) -> list[str]:
        arguments = [
            "bwrap",
            "--unshare-ipc",
            "--unshare-pid",
            "--unshare-net",
            "--unshare-uts",
            "--unshare-cgroup-try",
        ]
        arguments += ["--as-pid-1", "--hostname", "sandbox", "--clearenv", "--setenv", "PATH", TOOLCHAIN_PATH]
        arguments += _toolchain_mounts()
        arguments += ["--ro-bind", str(self._harness), "/harness", "--proc", "/proc", "--dev", "/dev"]
        if group.memory:
            arguments += ["--ro-bind", str(group.memory), "/cgroup"]
        arguments += [*_user_args(), "--remount-ro", "/dev", "--remount-ro", "/"]
        return arguments


def _user_args() -> list[str]:
    """The two writable folders; as root capabilities to run programs as another user, else a user namespace."""
    if os.geteuid() != 0:
        disk = ["--size", str(RAM_DISK_BYTES), "--tmpfs"]
        return ["--unshare-user", *disk, "/w", *disk, "/tmp"]
    capabilities = [word for name in CAPABILITIES for word in ("--cap-add", f"CAP_{name}")]
    return ["--dir", "/w", "--dir", "/tmp", "--cap-drop", "ALL", *capabilities]


def _toolchain_mounts() -> list[str]:
    mounts: list[str] = []
    for path in map(Path, TOOLCHAIN_FOLDERS):
        if path.is_symlink():
            mounts += ["--symlink", str(path.readlink()), str(path)]
        elif path.is_dir():
            mounts += ["--ro-bind", str(path), str(path)]
    mounts += ["--perms", "0755", "--dir", "/etc"]
    for name in ETC_ENTRIES:
        mounts += ["--ro-bind-try", f"/etc/{name}", f"/etc/{name}"]
    return mounts


def _harness_options(group: SlotGroup, fd: int) -> list[str]:
    options = ["--fd", str(fd)]
    if group.memory:
        options += ["--cgroup", "/cgroup"]
    if os.geteuid() == 0:
        options += ["--uid", str(random.randrange(30000, 60000))]
        options += ["--mount", str(RAM_DISK_BYTES), str(RAM_DISK_INODES)]
    return options


def check_namespaces() -> str:
    """The version of bwrap. Raises MissingRequirement if it or the harness is missing, or namespaces cannot be made."""
    _require_bwrap()
    harness_path()
    try:
        _bwrap("--unshare-all", "--ro-bind", "/", "/", "true")
        version = _bwrap("--version").strip()
    except (OSError, subprocess.SubprocessError) as error:
        raise MissingRequirement(
            f"bwrap cannot make namespaces here ({_error_text(error)}); "
            "run as root, or allow user namespaces: sysctl -w user.max_user_namespaces=10000"
        ) from error
    return version + (", as root" if os.geteuid() == 0 else "")


def _require_bwrap() -> None:
    if shutil.which("bwrap") is None:
        raise MissingRequirement("bubblewrap is missing; run: apt-get install bubblewrap")


def _bwrap(*arguments: str) -> str:
    return subprocess.run(
        ["bwrap", *arguments], check=True, capture_output=True, text=True, timeout=START_TIMEOUT_S
    ).stdout


def _error_text(error: Exception) -> str:
    stderr = error.stderr.strip() if isinstance(error, subprocess.CalledProcessError) else ""
    return stderr or first_line(error)


def _await_harness(process: subprocess.Popen[bytes], connection: socket.socket) -> socket.socket:
    """Return the connection once the harness has replied.

    Raises MissingRequirement with the error message of bwrap; AgnosticsError if bwrap ended without one.
    """
    try:
        handshake(connection, START_TIMEOUT_S)
    except OSError as error:
        process.kill()
        _, stderr = process.communicate(timeout=START_TIMEOUT_S)
        if reason := stderr.decode(errors="replace").strip():
            raise MissingRequirement(f"bwrap cannot make a sandbox here ({reason}); run: agn doctor") from error
        raise AgnosticsError(f"the harness ended before it answered: {error}") from error
    return connection
