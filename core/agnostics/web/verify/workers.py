"""The two threads between the event loop and the sandbox: one submits programs, the other makes replies.

Parsing a line and submitting its program may take long or block, and so may writing a reply of many tests as JSON:
neither may hold up the other clients.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from queue import SimpleQueue
from threading import Thread
from typing import TYPE_CHECKING, Any

from agnostics.types.errors import describe_error
from agnostics.types.verification import Verification
from agnostics.verify_stream.format import Malformed, encode_line, malformed_line, parse, too_long
from agnostics.verify_stream.requests import Reply, RequestVerifier, reply_line
from agnostics.web.verify.metrics import Metrics

if TYPE_CHECKING:
    from agnostics.web.verify.stream import ClientStream

log = logging.getLogger("agnostics")

MAX_LINE_BYTES = 64 << 20
"""The longest line that is read over HTTP."""
MAX_TESTS = 10_000
"""The most tests of a request over HTTP: each takes a hundred times the bytes that `{}` takes on a line."""
_BATCH = 64


@dataclass(eq=False, slots=True)
class Line:
    """A line of a client, from its turn to its reply. `text` is None if it was too long."""

    stream: ClientStream
    text: bytes | None
    size: int
    """In bytes."""
    started_s: float = field(default_factory=time.monotonic)
    reply: bytes = b""
    run_s: float | None = None
    """The time that the program ran, if it did."""


class Workers:
    """Gives each submitted line its reply, and passes lines on to `deliver` in batches, on the reply thread."""

    def __init__(self, requests: RequestVerifier, metrics: Metrics, deliver: Callable[[list[Line]], None]) -> None:
        self._requests = requests
        self._metrics = metrics
        self._deliver = deliver
        self._lines: SimpleQueue[Line | None] = SimpleQueue()
        self._replies: SimpleQueue[tuple[Line, Reply | None] | None] = SimpleQueue()
        for name, target in (("submit", self._submit_all), ("replies", self._reply_all)):
            Thread(target=target, name=f"agnostics-http-{name}", daemon=True).start()

    def submit(self, line: Line) -> None:
        """Queue a line; never blocks."""
        self._lines.put(line)

    def close(self) -> None:
        """End both threads; they do not wait for programs."""
        self._lines.put(None)
        self._replies.put(None)

    def _submit_all(self) -> None:
        while (line := self._lines.get()) is not None:
            self._submit(line)

    def _submit(self, line: Line) -> None:
        if line.stream.gone:
            self._replies.put((line, None))
            return
        request = too_long(MAX_LINE_BYTES) if line.text is None else parse(line.text, MAX_TESTS)
        line.text = None  # which is as large as the request
        self._requests.submit(request, lambda reply: self._replies.put((line, reply)))

    def _reply_all(self) -> None:
        batch = list[Line]()
        while (item := self._replies.get()) is not None:
            line, reply = item
            if reply is not None:
                self._reply(line, reply)
            batch.append(line)
            if len(batch) >= _BATCH or self._replies.empty():
                self._deliver(batch)
                batch = []

    def _reply(self, line: Line, reply: Reply) -> None:
        try:
            values = reply_line(reply)
            line.reply = encode_line(values).encode()
        except Exception as error:  # or all clients would wait for this thread for ever
            log.exception("a reply could not be written")
            values = malformed_line(Malformed(None, f"no reply could be written: {describe_error(error)}"))
            line.reply = encode_line(values).encode()
        self._count(line, values)
        if not isinstance(reply, Malformed):
            line.run_s = _run_s(reply[1])

    def _count(self, line: Line, values: dict[str, Any]) -> None:
        if "verdict" in values:
            self._metrics.program(values["language"], values["verdict"], time.monotonic() - line.started_s)
        else:
            self._metrics.line_error()


def _run_s(done: Future[Verification]) -> float | None:
    """The time that a program took to be compiled and to run its tests; None if it has no verification."""
    if done.exception():
        return None
    verification = done.result()
    compile_ms = verification.compile.wall_ms if verification.compile else 0.0
    return (compile_ms + sum(test.wall_ms for test in verification.tests)) / 1000
