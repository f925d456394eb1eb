"""A process that commits a run's batches, so that rows take nothing of the Python that trains: the near side of it."""

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

from agnostics.store.database import shown
from agnostics.store.writer.thread import Batch
from agnostics.store.writer.wire import Answer, Opening, Packer, read_frame, write_frame
from agnostics.types.errors import AgnosticsError
from agnostics.util.subprocesses import exit_description

EXIT_SECONDS = 5.0
_BUFFER_BYTES = 1 << 20
"""What is sent at a time: little by little would wake the other side for every piece, on the trainer's processor."""
_PROGRAM = "agnostics.store.writer.main"

_log = logging.getLogger(__name__)


class CommittingProcess:
    """A process of its own that commits the batches of `run`; a context manager.

    It dies with the thread that entered the block, so that nothing is written any more for a trainer that was killed;
    an interrupt from the keyboard does not reach it.
    """

    def __init__(self, url: URL, run: str) -> None:
        self._url = url
        self._run = run
        self._packer = Packer()
        self._turn = threading.Lock()

    def __enter__(self) -> Self:
        command = [sys.executable, "-P", "-m", _PROGRAM]
        self._process = subprocess.Popen(
            command, stdin=PIPE, stdout=PIPE, bufsize=_BUFFER_BYTES, start_new_session=True
        )
        assert self._process.stdin
        assert self._process.stdout
        self._to, self._from = self._process.stdin, self._process.stdout
        opening = Opening({**self._url._asdict(), "query": dict(self._url.query)}, self._run, os.getpid())
        self._send([msgspec.msgpack.encode(opening)])
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        with self._process as process:
            if not self._turn.acquire(timeout=EXIT_SECONDS):  # a batch is under way, and nobody waits for it any more
                process.kill()
            with suppress(BrokenPipeError):
                self._to.close()
            with suppress(subprocess.TimeoutExpired):
                process.wait(EXIT_SECONDS)
            process.kill()

    def commit(self, batch: Batch) -> None:
        """Return when `batch` is committed. Raises AgnosticsError where it cannot be, or the process is gone."""
        with self._turn:
            self._send(self._packer.packed(batch))
            while (answer := self._answer()).kind == "notice":
                _log.warning("%s", answer.text)
        if answer.kind == "failed":
            raise AgnosticsError(answer.text)

    def _send(self, frames: Iterable[bytes]) -> None:
        try:
            for frame in frames:
                write_frame(self._to, frame)
                time.sleep(0)  # whoever waits for Python's lock gets it between two pieces
            self._to.flush()
        except BrokenPipeError as error:
            raise self._gone() from error

    def _answer(self) -> Answer:
        frame = read_frame(self._from)
        if frame is None:
            raise self._gone()
        return msgspec.msgpack.decode(frame, type=Answer)

    def _gone(self) -> AgnosticsError:
        how = exit_description(self._process.wait(EXIT_SECONDS))
        return AgnosticsError(f"results database {shown(self._url)}: the process that writes into it {how}")
