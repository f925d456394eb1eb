"""Sessions: commands that share a workspace, in a slot of their own."""

from __future__ import annotations

import io
import socket
import tarfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import PurePosixPath
from typing import Self

from agnostics.sandbox.backend import Slot
from agnostics.sandbox.job_codec import ENVIRONMENT
from agnostics.sandbox.protocol import (
    Command,
    JobResult,
    ResultReader,
    RunResult,
    decode,
    encode_clear,
    encode_command,
    encode_interrupt,
)
from agnostics.sandbox.worker import WATCHDOG_EXTRA_S, data_limit_mb, watchdog_s
from agnostics.types.errors import AgnosticsError, UsageError
from agnostics.types.task import Limits
from agnostics.types.verification import Verdict

TRANSFER_BYTES = 64 << 20
"""The most that one `put`, `get` or `snapshot` carries."""
_TRANSFER_S = 60.0
_PACK = (
    "sh",
    "-c",
    "find . -mindepth 1 -maxdepth 1 -print0 | tar --create --file=- --null --files-from=- --warning=no-file-ignored",
)
"""Without the folder of the workspace itself, which belongs to the harness."""
_UNPACK = ("tar", "--extract", "--file=-", "--no-same-owner", "--same-permissions")
_ERROR_CHARACTERS = 300
_BROKEN = (OSError, IndexError, ValueError)
"""What a connection raises that has ended, or on which something else than a result came."""


class SessionError(AgnosticsError):
    """A command has no result, because its sandbox failed or the session was closed. It is never retried."""


class Session:
    """A workspace and its commands, one at a time. A context manager; `close` removes the workspace.

    What a command writes to its folder (the workspace) and to `$TMPDIR` stays for the next one; all its processes end
    with it, so that what the next one finds are files alone. `release` is called at the end, with whether the slot is
    cleared.
    """

    def __init__(self, slot: Slot, limits: Limits, release: Callable[[bool], None]) -> None:
        self._slot = slot
        self._limits = limits
        self._release = release
        self._results = ResultReader()
        self._busy = threading.Lock()
        self._sending = threading.Lock()  # so that an interrupt is sent neither within a frame nor after the result
        self._awaits_result = False
        self._state = threading.Lock()
        self._failed = ""
        self._closed = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def exec(
        self,
        argv: Sequence[str],
        *,
        stdin: bytes = b"",
        environment: Mapping[str, str] | None = None,
        run_s: float | None = None,
        output_bytes: int | None = None,
    ) -> RunResult:
        """Run a command, and wait for its end.

        `run_s` is its time limit (seconds of its own, as of programs) and `output_bytes` that of each output; those of
        the session by default. At a limit all its processes are killed and the verdict names it; what it wrote until
        then is there. A command that cannot be started ends with exit status 127. Raises SessionError if the sandbox
        fails, UsageError for an empty `argv`.

        A command that is interrupted is killed likewise: `interrupted` is true, the signal 9 and the verdict that of a
        runtime error. KeyboardInterrupt interrupts the command, and is raised once it has ended.
        """
        if not argv:
            raise UsageError("a command needs a name")
        limits = self._limits
        command = Command(
            argv=argv,
            environment={**ENVIRONMENT, **(environment or {})},
            stdin=stdin,
            run_s=run_s or limits.run_s,
            memory_mb=limits.memory_mb,
            processes=limits.processes,
            output_bytes=output_bytes or limits.output_bytes,
            data_mb=data_limit_mb(limits.memory_mb, self._slot.unenforced),
        )
        (result,) = self._ask(encode_command(command), command.run_s).tests
        return result

    def interrupt(self) -> None:
        """End the command that runs, if one does, and no later one; the session goes on. For any thread.

        `exec` returns its result within about 20 ms, unless it takes longer to kill its processes. A file that is
        carried by a command that is interrupted is an error, and may be there in part.
        """
        with self._sending:
            if not self._awaits_result:
                return
            self._awaits_result = False
            with suppress(OSError):  # the command has no result then, as its own thread finds
                self._slot.connection.sendall(encode_interrupt())

    def put(self, files: Mapping[str, bytes]) -> None:
        """Write files, by their paths in the workspace, and the folders that they need.

        Raises UsageError for a path out of the workspace, AgnosticsError if the files cannot be written.
        """
        self._unpack(_archive(files))

    def get(self, path: str) -> bytes:
        """The contents of a file. Raises AgnosticsError if it cannot be read, or has more than TRANSFER_BYTES."""
        command = ("dd", f"if={path}", "bs=1M", "iflag=fullblock,nonblock", "status=none")  # a pipe has nothing to read
        return self._transfer(command, f"cannot read {path[:_ERROR_CHARACTERS]!r} in the sandbox")

    def snapshot(self) -> bytes:
        """The files of the workspace, as a tar archive, but not those in `$TMPDIR`.

        Raises AgnosticsError if a file cannot be read, or there are more than TRANSFER_BYTES.
        """
        return self._transfer(_PACK, "cannot take a snapshot of the workspace")

    def restore(self, snapshot: bytes) -> None:
        """Make the workspace that of a snapshot, of this session or another one, and empty `$TMPDIR`."""
        _require_small(len(snapshot))
        self._ask(encode_clear(), 0)
        self._unpack(snapshot)

    def close(self) -> None:
        """Remove the workspace; a command that runs in another thread is killed. Safe to call twice."""
        with self._state:
            if self._closed:
                return
            self._closed = True
        if not self._busy.acquire(blocking=False):
            self._slot.connection.shutdown(socket.SHUT_RDWR)
            self._release(False)
            return
        try:
            self._release(self._is_cleared())
        finally:
            self._busy.release()

    def _is_cleared(self) -> bool:
        try:
            return not self._failed and self._exchange(encode_clear(), 0).error is None
        except _BROKEN:
            return False

    def _unpack(self, archive: bytes) -> None:
        _require_small(len(archive))
        self._transfer(_UNPACK, "cannot write the files in the sandbox", archive)

    def _transfer(self, argv: Sequence[str], failure: str, stdin: bytes = b"") -> bytes:
        result = self.exec(argv, stdin=stdin, run_s=_TRANSFER_S, output_bytes=TRANSFER_BYTES)
        if result.verdict is Verdict.OUTPUT_LIMIT or result.truncated:
            raise AgnosticsError(f"{failure}: it is larger than {TRANSFER_BYTES} bytes")
        if result.verdict is not Verdict.ACCEPTED:
            lines = result.stderr.decode(errors="replace").strip().splitlines()
            reason = lines[0][:_ERROR_CHARACTERS] if lines else str(result.verdict)
            reason = "it was interrupted" if result.interrupted else reason
            raise AgnosticsError(f"{failure}: {reason}")
        return result.stdout

    def _ask(self, frame: bytes | bytearray, run_s: float) -> JobResult:
        """The reply of the harness to a frame. Raises SessionError if there is none."""
        with self._busy:
            if self._closed or self._failed:
                raise SessionError(f"the session has ended: {'it was closed' if self._closed else self._failed}")
            self._failed = "a command was given up"  # if an exception of a signal handler leaves a reply unread
            try:
                result = self._exchange(frame, run_s)
            except _BROKEN as error:
                self._failed = f"its sandbox does not answer ({error})"
            if self._failed:
                raise SessionError(f"the command has no result: {'it was closed' if self._closed else self._failed}")
            return result

    def _exchange(self, frame: bytes | bytearray, run_s: float) -> JobResult:
        with self._sending:
            self._slot.connection.settimeout(WATCHDOG_EXTRA_S)
            self._slot.connection.sendall(frame)
            self._awaits_result = True
        try:
            return self._receive(watchdog_s([run_s]))
        except KeyboardInterrupt:
            self.interrupt()
            self._receive(WATCHDOG_EXTRA_S)
            raise

    def _receive(self, timeout_s: float) -> JobResult:
        connection = self._slot.connection
        deadline = time.monotonic() + timeout_s
        while True:
            connection.settimeout(max(0.001, deadline - time.monotonic()))
            data = connection.recv(1 << 18)
            if not data:
                raise ConnectionResetError("it has ended")
            for body in self._results.feed(data):
                with self._sending:
                    self._awaits_result = False
                result = decode(body)
                self._failed = result.error or ""
                return result


def _archive(files: Mapping[str, bytes]) -> bytes:
    """A tar archive of files by path. Raises UsageError for a path that is not below the archive's folder."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name, data in files.items():
            path = PurePosixPath(name)
            if path.is_absolute() or ".." in path.parts or not path.parts or "\0" in name:
                raise UsageError(f"{name[:_ERROR_CHARACTERS]!r} is no path of a file in the workspace")
            entry = tarfile.TarInfo(str(path))
            entry.size, entry.mtime = len(data), time.time()
            archive.addfile(entry, io.BytesIO(data))
    return buffer.getvalue()


def _require_small(size: int) -> None:
    if size > TRANSFER_BYTES:
        raise AgnosticsError(f"{size} bytes are too many for a session; it takes at most {TRANSFER_BYTES} at a time")
