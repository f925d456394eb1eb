"""A process that commits a run's batches, so that inserts do not hold the trainer's GIL: the client side."""

from __future__ import annotations

import logging
import threading
from types import TracebackType
from typing import Self

import msgspec
from sqlalchemy import URL

from agnostics.store.database import display_url
from agnostics.store.writer.batch import Batch
from agnostics.store.writer.wire import BatchEncoder, Handshake, WriterMessage
from agnostics.types.errors import AgnosticsError
from agnostics.util.child_process import ChildProcess

EXIT_SECONDS = 5.0
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
        description = f"results database {display_url(self._url)}: the process that writes into it"
        self._process = ChildProcess(_PROGRAM, description)
        handshake = Handshake({**self._url._asdict(), "query": dict(self._url.query)}, self._run)
        self._send(msgspec.msgpack.encode(handshake))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        with self._process as process:
            if not self._lock.acquire(timeout=EXIT_SECONDS):  # a batch is being committed, and no caller waits for it
                process.kill()

    def commit(self, batch: Batch) -> None:
        """Block until `batch` is committed. Raises AgnosticsError if the commit fails, or the process has ended."""
        with self._lock:
            self._send(self._encoder.encode(batch))
            while (message := self._receive()).kind == "log":
                _log.warning("%s", message.text)
        if message.kind == "failed":
            raise AgnosticsError(message.text)

    def _send(self, message: bytes) -> None:
        try:
            self._process.connection.send_bytes(message)
        except ConnectionError as error:
            raise self._process.ended() from error

    def _receive(self) -> WriterMessage:
        try:
            message = self._process.connection.recv_bytes()
        except (EOFError, ConnectionError) as error:
            raise self._process.ended() from error
        return msgspec.msgpack.decode(message, type=WriterMessage)
