"""The slots of process mode: the harness as a plain process, with resource limits only."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
from pathlib import Path

from agnostics.sandbox.backend import SlotFactory
from agnostics.sandbox.harness_binary import harness_path
from agnostics.sandbox.owner import make_owned_folder, remove_leftover_folders
from agnostics.sandbox.protocol import handshake
from agnostics.sandbox.slot_users import SlotUser
from agnostics.sandbox.toolchain import TOOLCHAIN_PATH, require_toolchain
from agnostics.types.errors import MissingRequirement
from agnostics.types.language import Language

START_TIMEOUT_S = 20


class ProcessSlot:
    """A harness process and the folder to which its programs write."""

    unenforced = ("isolation", "memory") if os.geteuid() == 0 else ("isolation", "memory", "processes")

    def __init__(
        self, process: subprocess.Popen[bytes], connection: socket.socket, folder: Path, user: SlotUser | None
    ) -> None:
        self.connection = connection
        self._process = process
        self._folder = folder
        self._user = user

    def set_limits(self, memory_mb: int, processes: int) -> None:
        """Do nothing: the only limits are those that the harness sets (RLIMIT_DATA, RLIMIT_NPROC)."""

    def close(self) -> None:
        """End the harness, which kills the processes of its programs. Safe to call twice."""
        self.connection.close()
        try:
            self._process.wait(timeout=START_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(timeout=START_TIMEOUT_S)
        shutil.rmtree(self._folder, ignore_errors=True)
        if self._user:
            self._user.close()


class ProcessSlotFactory(SlotFactory):
    """Starts harness processes."""

    def __init__(self) -> None:
        remove_leftover_folders(_parent_folder())

    def start(self, language: Language) -> ProcessSlot:
        """Start a slot. Raises MissingRequirement if the toolchain is not installed or the harness does not start."""
        require_toolchain(language)
        user = SlotUser() if os.geteuid() == 0 else None
        folder = _make_folder()
        ours, theirs = socket.socketpair()
        with theirs:
            process = _launch(folder, user, theirs)
        slot = ProcessSlot(process, ours, folder, user)
        try:
            handshake(ours, START_TIMEOUT_S)
        except OSError as error:
            slot.close()
            raise MissingRequirement(f"the sandbox's harness does not start ({error}); run: agn doctor") from error
        return slot


def _parent_folder() -> Path:
    """The folder for the slots' folders, in memory if possible."""
    memory = Path("/dev/shm")
    return memory if os.access(memory, os.W_OK) else Path(tempfile.gettempdir())


def _make_folder() -> Path:
    """Make a folder for work and scratch files that other users may traverse but not list."""
    folder = make_owned_folder(_parent_folder())
    folder.chmod(0o711)
    for name in ("work", "tmp"):
        (folder / name).mkdir()
    return folder


def _launch(folder: Path, user: SlotUser | None, connection: socket.socket) -> subprocess.Popen[bytes]:
    uid = ["--uid", str(user.uid)] if user else []
    options = ["--fd", str(connection.fileno()), "--work", str(folder / "work"), "--tmp", str(folder / "tmp"), *uid]
    return subprocess.Popen(
        [str(harness_path()), *options],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        pass_fds=[connection.fileno()],
        start_new_session=True,
        env={"PATH": TOOLCHAIN_PATH},
    )
