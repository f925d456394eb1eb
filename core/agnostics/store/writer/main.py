"""The program that a `WriterProcess` runs: it reads batches from stdin and commits them."""

from __future__ import annotations

import gc
import logging
import os
import sys
from typing import IO

import msgspec
from sqlalchemy import URL

from agnostics.store.database import connect
from agnostics.store.writer.commit import RetryingWriter
from agnostics.store.writer.wire import BatchDecoder, Handshake, WriterMessage, read_frame, write_frame
from agnostics.types.errors import AgnosticsError
from agnostics.util.subprocesses import die_with_parent

_NICENESS = 10
"""The niceness of this process: the trainer comes first on a shared processor."""
_GC_THRESHOLD = 10_000
"""The threshold of the garbage collector: with the default of 700, the many live rows cost a quarter more time."""


class _LogForwarder(logging.Handler):
    """Forwards log records to the parent process, which logs them."""

    def __init__(self, messages: IO[bytes]) -> None:
        super().__init__(logging.WARNING)
        self._messages = messages

    def emit(self, record: logging.LogRecord) -> None:
        _send(self._messages, WriterMessage("log", record.getMessage()))


def _send(messages: IO[bytes], message: WriterMessage) -> None:
    write_frame(messages, msgspec.msgpack.encode(message))
    messages.flush()


def main() -> None:
    """Commit the batches from stdin until it is closed, and acknowledge them on stdout; other output goes to stderr."""
    frames = sys.stdin.buffer
    with os.fdopen(os.dup(1), "wb") as messages:
        os.dup2(2, 1)
        logging.getLogger().addHandler(_LogForwarder(messages))
        handshake = msgspec.msgpack.decode(read_frame(frames) or sys.exit(1), type=Handshake)
        die_with_parent(handshake.parent)
        os.nice(_NICENESS)
        gc.set_threshold(_GC_THRESHOLD)
        _commit_all(handshake, frames, messages)


def _commit_all(handshake: Handshake, frames: IO[bytes], messages: IO[bytes]) -> None:
    writer, decoder = RetryingWriter(connect(URL.create(**handshake.url)), handshake.run), BatchDecoder()
    try:
        while (frame := read_frame(frames)) is not None:
            if batch := decoder.decode(frame):
                writer.commit(batch)
                _send(messages, WriterMessage("committed"))
    except AgnosticsError as error:
        _send(messages, WriterMessage("failed", str(error)))


if __name__ == "__main__":
    main()
