"""Replies written to a file, on a thread of their own."""

from __future__ import annotations

import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any, TextIO

from agnostics.sandbox.backpressure import Backpressure
from agnostics.types.errors import AgnosticsError
from agnostics.types.verification import Verdict
from agnostics.verify_stream.format import encode_line
from agnostics.verify_stream.requests import Reply, reply_line

IN_FLIGHT_PER_SLOT = 128
"""The most lines that are read and not yet replied to."""


class ReplyWriter:
    """Writes replies on a thread of its own, so that reading, running and writing overlap.

    A context manager: its end waits for all reserved replies, also after an error of the input. The reserved requests
    are bounded in number and in bytes, so that a stream of any length takes no more memory than a short one.
    """

    def __init__(self, output: TextIO, slots: int) -> None:
        self.all_valid = True
        """Whether each line so far was a request."""
        self.written = 0
        self.sandbox_errors = 0
        self._output = output
        self._reserved = Backpressure(IN_FLIGHT_PER_SLOT * slots, always=slots)
        self._queue: SimpleQueue[tuple[Reply, int] | None] = SimpleQueue()
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="agnostics-replies", daemon=True)

    def __enter__(self) -> ReplyWriter:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *exception: object) -> None:
        if kind is None or issubclass(kind, AgnosticsError):
            self._reserved.drain()
        self._queue.put(None)
        self._thread.join(timeout=60)
        if kind is None and self._failure:
            raise self._failure

    def reserve(self, size: int) -> None:
        """Block until one more request of `size` bytes may be outstanding. Raises the error of the writer, if any."""
        self._reserved.acquire(size)
        if self._failure:
            self._reserved.release(size)
            raise self._failure

    def taker(self, size: int) -> Callable[[Reply], None]:
        """Takes the reply to a request of `size` bytes."""
        return lambda reply: self.put(reply, size)

    def put(self, reply: Reply, size: int) -> None:
        """Queue the reply to a request of `size` bytes."""
        self._queue.put((reply, size))

    def _run(self) -> None:
        while (item := self._queue.get()) is not None:
            reply, size = item
            try:
                self._write(reply)
            except Exception as error:  # or those who wait for this thread would wait for ever
                self._failure = error
            self._reserved.release(size)

    def _write(self, reply: Reply) -> None:
        if self._failure:
            return
        line = reply_line(reply)
        self._count(line)
        self._output.write(encode_line(line))
        if self._queue.empty():
            self._output.flush()

    def _count(self, line: dict[str, Any]) -> None:
        self.written += 1
        self.all_valid = self.all_valid and "verdict" in line
        self.sandbox_errors += line.get("verdict") == Verdict.SANDBOX_ERROR
