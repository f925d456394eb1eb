"""The program that a `WriterProcess` runs: it receives batches and commits them."""

from __future__ import annotations

import gc
import logging
import os
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any

import msgspec
from sqlalchemy import URL

from agnostics.store.database import connect
from agnostics.store.writer.batch import RetryingWriter
from agnostics.store.writer.process import BatchDecoder, Handshake, WriterMessage
from agnostics.types.errors import AgnosticsError
from agnostics.util.child_process import connect_to_parent

_NICENESS = 10
"""The niceness of this process: the trainer comes first on a shared processor."""
_GC_THRESHOLD = 10_000
"""The threshold of the garbage collector: with the default of 700, the many live rows cost a quarter more time."""


class _LogForwarder(logging.Handler):
    """Forwards log records to the parent process, which logs them."""

    def __init__(self, parent: Connection[Any, Any]) -> None:
        super().__init__(logging.WARNING)
        self._parent = parent

    def emit(self, record: logging.LogRecord) -> None:
        _send(self._parent, WriterMessage("log", record.getMessage()))


def _send(parent: Connection[Any, Any], message: WriterMessage) -> None:
    parent.send_bytes(msgspec.msgpack.encode(message))


def main() -> None:
    """Commit the batches of the parent, and report on each, until it closes the connection."""
    with connect_to_parent() as parent, suppress(EOFError):
        logging.getLogger().addHandler(_LogForwarder(parent))
        os.nice(_NICENESS)
        gc.set_threshold(_GC_THRESHOLD)
        _commit_all(msgspec.msgpack.decode(parent.recv_bytes(), type=Handshake), parent)


def _commit_all(handshake: Handshake, parent: Connection[Any, Any]) -> None:
    """Raises EOFError when the parent closes the connection."""
    writer, decoder = RetryingWriter(connect(URL.create(**handshake.url)), handshake.run), BatchDecoder()
    try:
        while True:
            writer.commit(decoder.decode(parent.recv_bytes()))
            _send(parent, WriterMessage("committed"))
    except AgnosticsError as error:
        _send(parent, WriterMessage("failed", str(error)))


if __name__ == "__main__":
    main()
