"""The slots of bubblewrap mode: a harness in namespaces, with the host's toolchains read-only and no network.

Slots do not share a namespace: the harness, as the first process of its own, ends all processes of a program with one
signal, and a fork bomb stays in its slot. As root each slot's programs run as a user of their own, in a user namespace
if one can be made, whose root is an ordinary user of the machine; without root they run as the harness's user, and the
harness protects the program's files itself (harness/mounts.c, harness/products.c).
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

from agnostics.sandbox.backend import SlotFactory
from agnostics.sandbox.cgroups import SlotGroup, find_parent_groups, harness_descriptors, remove_leftovers
from agnostics.sandbox.harness_binary import harness_path, hold_library_path
from agnostics.sandbox.host_folders import (
    HostFolders,
    bubblewrap_binds,
    bubblewrap_mounts,
    bubblewrap_root,
    bubblewrap_system,
)
from agnostics.sandbox.masked_paths import bubblewrap_mask
from agnostics.sandbox.protocol import handshake
from agnostics.sandbox.slot_options import SlotOptions
from agnostics.sandbox.slot_users import HOLDER, SlotUser
from agnostics.sandbox.toolchain import TOOLCHAIN_PATH, require_toolchain
from agnostics.sandbox.user_namespaces import can_make_user_namespaces, user_map
from agnostics.types.errors import AgnosticsError, MissingRequirement
from agnostics.types.language import Language
from agnostics.util.text import first_line

START_TIMEOUT_S = 20
RAM_DISK_BYTES = 256 << 20
RAM_DISK_INODES = 65536
RESERVED_PROCESSES = 7
"""Tasks beside the programs' own: the harness's threads, bwrap, the fork server and its killer, with a margin."""
CAPABILITIES = ("SETUID", "SETGID", "KILL", "CHOWN", "DAC_OVERRIDE", "FOWNER", "SETPCAP", "SYS_ADMIN")
"""The harness's; it drops the last two, which it needs to start, before the first program."""
_BOUND = "/sys"
"""Where the harness binds folders for bwrap (harness/overlay.c)."""


class BubblewrapSlot:
    """A bwrap process with the harness inside it."""

    def __init__(
        self, process: subprocess.Popen[bytes], connection: socket.socket, group: SlotGroup, held: ExitStack
    ) -> None:
        self.connection = connection
        self.unenforced = group.unenforced
        self._process = process
        self._group = group
        self._held = held

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
        self._held.close()


class BubblewrapSlotFactory(SlotFactory):
    """Starts bwrap processes. Raises MissingRequirement if bwrap or the harness is missing."""

    def __init__(self) -> None:
        _require_bwrap()
        self._groups = find_parent_groups()
        self._harness = harness_path()
        self._folders = HostFolders(self._harness)
        self._has_user_namespaces = can_make_user_namespaces(self._harness)
        remove_leftovers(self._groups)

    def start(self, language: Language) -> BubblewrapSlot:
        """Start a slot. Raises MissingRequirement if the toolchain is not installed or bwrap reports an error."""
        return self.start_with(language, SlotOptions())

    def start_with(self, language: Language, options: SlotOptions) -> BubblewrapSlot:
        """Start a slot with mounts, a loopback network or another root. Raises as `start`."""
        if not options.root:
            require_toolchain(language)
        with ExitStack() as stack:
            user = stack.enter_context(SlotUser()) if os.geteuid() == 0 else None
            root = stack.enter_context(SlotUser()) if self._has_user_namespaces else None
            group = SlotGroup(self._groups)
            stack.callback(group.close)
            ours, theirs = socket.socketpair()
            stack.enter_context(ours)
            with theirs:
                process = self._launch(language, options, group, user, root, theirs)
            connection = _await_harness(process, ours, group, root.uid if root else 0)
            return BubblewrapSlot(process, connection, group, stack.pop_all())

    def _launch(
        self,
        language: Language,
        slot_options: SlotOptions,
        group: SlotGroup,
        user: SlotUser | None,
        root: SlotUser | None,
        connection: socket.socket,
    ) -> subprocess.Popen[bytes]:
        folders = [] if slot_options.root else self._folders.of(language)
        covered = self._folders.overlay([*folders, *_shared_folders(slot_options)])
        join = [str(self._harness), "--join", *map(str, group.procs_files), *covered]
        for mount in slot_options.mounts:
            mount.give_to(user.uid if user else None, root.uid if root else None)
        if os.geteuid() == 0 and (sources := _sources(slot_options)):
            join += ["--bind", *map(str, sources)]
        if user and root:
            join += ["--users", user_map(root.uid, user.uid, HOLDER)]
        options = [*_harness_options(user, connection.fileno()), *(["--loopback"] if slot_options.loopback else [])]
        paths = {"/harness": self._harness}
        if language.fork_server:
            paths["/hold.so"] = hold_library_path()
            options += ["--hold-library", "/hold.so"]
        with ExitStack() as opened_files:
            files = {name: opened_files.enter_context(path.open("rb")).fileno() for name, path in paths.items()}
            return subprocess.Popen(
                [
                    *join,
                    "--",
                    *_bwrap_args(slot_options.path, _shown(folders, slot_options), files),
                    "/harness",
                    *options,
                ],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                pass_fds=[connection.fileno(), *files.values()],
                start_new_session=True,
                env={"PATH": os.environ.get("PATH", TOOLCHAIN_PATH)},
            )


def _shared_folders(options: SlotOptions) -> list[Path]:
    """The folders of this machine that other slots may show too, whose files get inodes of the slot's own."""
    root = [path for path in sorted(options.root.iterdir()) if path.is_dir()] if options.root else []
    return [*root, *(mount.source for mount in options.mounts if not mount.private)]


def _sources(options: SlotOptions) -> list[Path]:
    """The folders of this machine that a slot shows at other paths, the root first."""
    return [*([options.root] if options.root else []), *(mount.source for mount in options.mounts)]


def _shown(folders: Sequence[Path], options: SlotOptions) -> list[str]:
    """The arguments of bwrap that show the slot's root and its mounts."""
    sources = [f"{_BOUND}/{place}" if os.geteuid() == 0 else str(path) for place, path in enumerate(_sources(options))]
    root = bubblewrap_root(options.root, sources.pop(0)) if options.root else bubblewrap_binds(folders)
    targets = [mount.target for mount in options.mounts]
    return root + bubblewrap_mounts(list(zip(sources, targets, strict=True)))


def _bwrap_args(path: Sequence[str], shown: Sequence[str], files: Mapping[str, int]) -> list[str]:
    arguments = [
        "bwrap",
        "--unshare-ipc",
        "--unshare-pid",
        "--unshare-net",
        "--unshare-uts",
        "--unshare-cgroup-try",
    ]
    arguments += ["--as-pid-1", "--hostname", "sandbox", "--clearenv", "--setenv", "PATH"]
    arguments += [":".join([*path, TOOLCHAIN_PATH])]
    arguments += shown
    for path, descriptor in files.items():  # copies: the table of mounts would show the paths of the originals
        arguments += ["--perms", "0555", "--ro-bind-data", str(descriptor), path]
    arguments += ["--proc", "/proc", "--dev", "/dev"]
    arguments += bubblewrap_mask()
    # Without root the settings below /proc/sys belong to the user of programs.
    arguments += [*_user_args(), "--ro-bind", "/proc/sys", "/proc/sys", "--remount-ro", "/dev", "--remount-ro", "/"]
    return arguments


def _user_args() -> list[str]:
    """The two writable folders; as root capabilities to run programs as another user, else a user namespace, and RAM
    disks for where the harness cannot mount its own (harness/mounts.c)."""
    if os.geteuid() != 0:
        disk = ["--size", str(RAM_DISK_BYTES), "--tmpfs"]
        return ["--unshare-user", *disk, "/w", *disk, "/tmp"]
    capabilities = [word for name in CAPABILITIES for word in ("--cap-add", f"CAP_{name}")]
    return ["--dir", "/w", "--dir", "/tmp", "--cap-drop", "ALL", *capabilities]


def _harness_options(user: SlotUser | None, fd: int) -> list[str]:
    options = ["--fd", str(fd), "--mount", str(RAM_DISK_BYTES), str(RAM_DISK_INODES)]
    return [*options, "--uid", str(user.uid)] if user else options


def check_namespaces() -> str:
    """The version of bwrap. Raises MissingRequirement if it or the harness is missing, or namespaces cannot be made."""
    _require_bwrap()
    harness_path()
    try:
        _bwrap("--unshare-all", *bubblewrap_system(), "true")
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


def _await_harness(
    process: subprocess.Popen[bytes], connection: socket.socket, group: SlotGroup, harness_user: int
) -> socket.socket:
    """Return the connection once the harness has replied.

    Raises MissingRequirement with the error message of bwrap; AgnosticsError if bwrap ended without one.
    """
    try:
        handshake(connection, START_TIMEOUT_S, harness_descriptors(group.counters, harness_user))
    except OSError as error:
        process.kill()
        _, stderr = process.communicate(timeout=START_TIMEOUT_S)
        if reason := stderr.decode(errors="replace").strip():
            raise MissingRequirement(f"bwrap cannot make a sandbox here ({reason}); run: agn doctor") from error
        raise AgnosticsError(f"the harness ended before it answered: {error}") from error
    return connection
