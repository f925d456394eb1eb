"""A process that commits a run's batches, so that inserts do not hold the trainer's GIL: the client side."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterable
from contextlib import suppress
from subprocess import PIPE
from types import TracebackType
from typing import Self

import msgspec
from sqlalchemy import URL

from agnostics.store.database import display_url
from agnostics.store.writer.batch import Batch
from agnostics.store.writer.wire import BatchEncoder, Handshake, WriterMessage, read_frame, write_frame
from agnostics.types.errors import AgnosticsError
from agnostics.util.subprocesses import exit_description

EXIT_SECONDS = 5.0
_BUFFER_BYTES = 1 << 20
"""The buffer of the pipe: with a small one, every chunk would wake the writer on the trainer's processor."""
_PROGRAM = "agnostics.store.writer.main"

_log = logging.getLogger(__name__)


class WriterProcess:
    """A separate process that commits the batches of `run`; a context manager.

    It dies with the thread that entered the block, so that nothing more is written for a killed trainer; an interrupt
    from the keyboard does not reach it.
    """

    def __init__(self, url: URL, run: str) -> None:
        self._url = url
        self._run = run
        self._encoder = BatchEncoder()
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        command = [sys.executable, "-P", "-m", _PROGRAM]
        self._process = subprocess.Popen(
            command, stdin=PIPE, stdout=PIPE, bufsize=_BUFFER_BYTES, start_new_session=True
        )
        assert self._process.stdin
        assert self._process.stdout
        self._stdin, self._stdout = self._process.stdin, self._process.stdout
        handshake = Handshake({**self._url._asdict(), "query": dict(self._url.query)}, self._run, os.getpid())
        self._send([msgspec.msgpack.encode(handshake)])
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        with self._process as process:
            if not self._lock.acquire(timeout=EXIT_SECONDS):  # a batch is being committed, and no caller waits for it
                process.kill()
            with suppress(BrokenPipeError):
                self._stdin.close()
            with suppress(subprocess.TimeoutExpired):
                process.wait(EXIT_SECONDS)
            process.kill()

    def commit(self, batch: Batch) -> None:
        """Block until `batch` is committed. Raises AgnosticsError if the commit fails, or the process has ended."""
        with self._lock:
            self._send(self._encoder.encode(batch))
            while (message := self._receive()).kind == "log":
                _log.warning("%s", message.text)
        if message.kind == "failed":
            raise AgnosticsError(message.text)

    def _send(self, frames: Iterable[bytes]) -> None:
        try:
            for frame in frames:
                write_frame(self._stdin, frame)
                time.sleep(0)  # releases the GIL between chunks
            self._stdin.flush()
        except BrokenPipeError as error:
            raise self._ended() from error

    def _receive(self) -> WriterMessage:
        frame = read_frame(self._stdout)
        if frame is None:
            raise self._ended()
        return msgspec.msgpack.decode(frame, type=WriterMessage)

    def _ended(self) -> AgnosticsError:
        ended = exit_description(self._process.wait(EXIT_SECONDS))
        return AgnosticsError(f"results database {display_url(self._url)}: the process that writes into it {ended}")
