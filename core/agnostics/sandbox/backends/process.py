"""Process mode: the harness as a plain process, its programs held by resource limits only. For trusted programs.

No namespaces: programs see the machine's files and network. It has to be asked for by name.
"""

from __future__ import annotations

import os
import random
import shutil
import socket
import subprocess
import tempfile
from pathlib import Path

from agnostics.sandbox.doctor import TOOLCHAIN_PATH
from agnostics.sandbox.harness_binary import harness_path
from agnostics.sandbox.protocol import greet
from agnostics.sandbox.toolchain import require_toolchain
from agnostics.types.errors import MissingRequirement
from agnostics.types.language import Language

START_S = 20


class ProcessSlot:
    """A harness process and the folder that its programs write to."""

    unenforced = ("isolation", "memory") if os.geteuid() == 0 else ("isolation", "memory", "processes")

    def __init__(self, process: subprocess.Popen[bytes], connection: socket.socket, folder: Path) -> None:
        self.connection = connection
        self._process = process
        self._folder = folder

    def set_limits(self, memory_mb: int, processes: int) -> None:
        """Nothing to set: the harness's own limits (RLIMIT_DATA, RLIMIT_NPROC) are all there are."""

    def close(self) -> None:
        """End the harness, which ends what its programs started. Safe to call twice."""
        self.connection.close()
        try:
            self._process.wait(timeout=START_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(timeout=START_S)
        shutil.rmtree(self._folder, ignore_errors=True)


class ProcessBackend:
    """Slots that are plain processes."""

    mode = "process"

    def start(self, language: Language) -> ProcessSlot:
        """A new slot. Raises MissingRequirement where the toolchain is not installed or the harness does not start."""
        require_toolchain(language)
        folder = _folder()
        ours, theirs = socket.socketpair()
        with theirs:
            process = _launch(folder, theirs)
        slot = ProcessSlot(process, ours, folder)
        try:
            greet(ours, START_S)
        except OSError as error:
            slot.close()
            raise MissingRequirement(f"the sandbox's harness does not start ({error}); run: agn doctor") from error
        return slot

    def close(self) -> None:
        """Nothing is kept beside the slots."""


def _folder() -> Path:
    """A work and a scratch folder, in memory where possible, that others may pass through but not list."""
    memory = Path("/dev/shm")
    folder = Path(tempfile.mkdtemp(prefix="agnostics-", dir=memory if os.access(memory, os.W_OK) else None))
    folder.chmod(0o711)
    for name in ("work", "tmp"):
        (folder / name).mkdir()
    return folder


def _launch(folder: Path, connection: socket.socket) -> subprocess.Popen[bytes]:
    uid = ["--uid", str(random.randrange(30000, 60000))] if os.geteuid() == 0 else []
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
