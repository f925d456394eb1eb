"""Bubblewrap mode: a harness per slot in namespaces of its own, with the host's toolchains read-only and no network.

A slot is a namespace of its own, not one shared by the programs of a language: the harness, being the first process of
it, ends everything that a program started with one signal, and a program's bomb takes no other slot with it. As root
each slot's programs run as a user of their own; as an ordinary user they share the harness's, which then looks after
its files (harness/products.c).
"""

from __future__ import annotations

import os
import random
import shutil
import socket
import subprocess
from pathlib import Path

from agnostics.sandbox.cgroups import Parents, SlotGroup, find_parents, remove_leftovers
from agnostics.sandbox.doctor import TOOLCHAIN_PATH
from agnostics.sandbox.harness_binary import harness_path
from agnostics.sandbox.protocol import greet
from agnostics.sandbox.toolchain import require_toolchain
from agnostics.types.errors import AgnosticsError, MissingRequirement
from agnostics.types.language import Language

START_S = 20
RAM_DISK_BYTES = 256 << 20
RAM_DISK_INODES = 65536
OWN_PROCESSES = 4
"""The harness and bwrap itself, with room to spare."""
CAPABILITIES = ("SETUID", "SETGID", "KILL", "CHOWN", "DAC_OVERRIDE", "FOWNER", "SETPCAP", "SYS_ADMIN")
"""The harness's own; the last two are for its start, and given up before the first program."""
TOOLCHAINS = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt")
SETTINGS = (
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
"""What toolchains need of /etc."""


class BubblewrapSlot:
    """A bwrap process with the harness inside it."""

    def __init__(self, process: subprocess.Popen[bytes], connection: socket.socket, group: SlotGroup) -> None:
        self.connection = connection
        self.unenforced = group.unenforced
        self._process = process
        self._group = group

    def set_limits(self, memory_mb: int, processes: int) -> None:
        """Limit the slot's group."""
        self._group.set_limits(memory_mb, processes + OWN_PROCESSES)

    def close(self) -> None:
        """End bwrap; the harness, and with it all that runs in its namespace, goes with it."""
        self.connection.close()
        self._process.kill()
        self._process.wait(timeout=START_S)
        if self._process.stderr:
            self._process.stderr.close()
        self._group.close()


class BubblewrapBackend:
    """Slots made with `bwrap`. Raises MissingRequirement where it is missing or may not make namespaces."""

    mode = "bubblewrap"

    def __init__(self) -> None:
        if shutil.which("bwrap") is None:
            raise MissingRequirement("bubblewrap is missing; run: apt-get install bubblewrap")
        self._groups: Parents = find_parents()
        self._harness = harness_path()
        remove_leftovers(self._groups)

    def start(self, language: Language) -> BubblewrapSlot:
        """A new slot. Raises MissingRequirement where the toolchain is not installed or no slot can be made."""
        require_toolchain(language)
        group = SlotGroup(self._groups)
        ours, theirs = socket.socketpair()
        try:
            with theirs:
                process = self._launch(group, theirs)
            return BubblewrapSlot(process, _greeted(process, ours), group)
        except BaseException:
            ours.close()
            group.close()
            raise

    def close(self) -> None:
        """Nothing is kept beside the slots."""

    def _launch(self, group: SlotGroup, connection: socket.socket) -> subprocess.Popen[bytes]:
        join = [str(self._harness), "--join", *map(str, group.entrances), "--"]
        return subprocess.Popen(
            [*join, *self._walls(group), "/harness", *_harness_options(group, connection.fileno())],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            pass_fds=[connection.fileno()],
            start_new_session=True,
            env={"PATH": os.environ.get("PATH", TOOLCHAIN_PATH)},
        )

    def _walls(self, group: SlotGroup) -> list[str]:
        walls = ["bwrap", "--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts", "--unshare-cgroup-try"]
        walls += ["--as-pid-1", "--hostname", "sandbox", "--clearenv", "--setenv", "PATH", TOOLCHAIN_PATH]
        walls += _toolchain_mounts()
        walls += ["--ro-bind", str(self._harness), "/harness", "--proc", "/proc", "--dev", "/dev"]
        if group.memory:
            walls += ["--ro-bind", str(group.memory), "/cgroup"]
        walls += [*_user_walls(), "--remount-ro", "/dev", "--remount-ro", "/"]
        return walls


def _user_walls() -> list[str]:
    """The folders that programs write to, and by what right: another user's as root, a user namespace otherwise."""
    if os.geteuid() != 0:
        disk = ["--size", str(RAM_DISK_BYTES), "--tmpfs"]
        return ["--unshare-user", *disk, "/w", *disk, "/tmp"]
    kept = [word for name in CAPABILITIES for word in ("--cap-add", f"CAP_{name}")]
    return ["--dir", "/w", "--dir", "/tmp", "--cap-drop", "ALL", *kept]


def _toolchain_mounts() -> list[str]:
    mounts: list[str] = []
    for path in map(Path, TOOLCHAINS):
        if path.is_symlink():
            mounts += ["--symlink", str(path.readlink()), str(path)]
        elif path.is_dir():
            mounts += ["--ro-bind", str(path), str(path)]
    mounts += ["--perms", "0755", "--dir", "/etc"]
    for name in SETTINGS:
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


def _greeted(process: subprocess.Popen[bytes], connection: socket.socket) -> socket.socket:
    """The connection, once the harness has answered.

    Otherwise raises MissingRequirement with what bwrap said; AgnosticsError where it said nothing, but was killed, say.
    """
    try:
        greet(connection, START_S)
    except OSError as error:
        process.kill()
        _, said = process.communicate(timeout=START_S)
        if reason := said.decode(errors="replace").strip():
            raise MissingRequirement(f"bwrap cannot make a sandbox here ({reason}); run: agn doctor") from error
        raise AgnosticsError(f"the harness ended before it answered: {error}") from error
    return connection
