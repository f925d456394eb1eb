"""One request to /verify: lines are read as programs have their turns, and replies written as they are ready."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from starlette.types import Receive, Send

from agnostics.verify_stream.format import Malformed, encode_line, malformed_line
from agnostics.web.verify.admission import Admission
from agnostics.web.verify.connection import Connection
from agnostics.web.verify.lines import LineSplitter
from agnostics.web.verify.metrics import Metrics
from agnostics.web.verify.outbox import Outbox, Outboxes
from agnostics.web.verify.workers import MAX_LINE_BYTES, Line

LONG_LINE_BYTES = 128 << 10
"""Beyond this much of an unfinished line a client needs one of the permits for long lines."""
LONG_LINES = 4
LONG_LINE_S = 60.0
"""The time in which a long line has to arrive, so that nobody keeps its permit."""
STALL_S = 300.0
"""A request is ended if nothing of its client arrives, is verified or is taken for this time."""
MEDIA_TYPE = "application/x-ndjson"


@dataclass
class Shared:
    """What all streams share. For one event loop."""

    admission: Admission
    metrics: Metrics
    submit: Callable[[Line], None]
    outboxes: Outboxes = field(default_factory=Outboxes)
    long_lines: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(LONG_LINES))


class ClientStream:
    """One request, on its connection."""

    def __init__(self, connection: Connection, shared: Shared) -> None:
        self.gone = False
        """True once nobody takes replies any more."""
        self._connection = connection
        self._shared = shared
        self._lines = LineSplitter(MAX_LINE_BYTES)
        self._outbox = Outbox(shared.outboxes)
        self._in_flight = 0
        self._waiting = False
        self._cut = False
        self._wake = asyncio.Event()
        self._long_line: asyncio.TimerHandle | None = None  # the limit of a permit, while the stream has one
        self._loop = asyncio.get_running_loop()
        self._active_s = time.monotonic()
        self._stall_check = self._loop.call_later(STALL_S, self._abort_if_stalled)

    async def run(self, receive: Receive, send: Send) -> None:
        """Serve the request to its end, or until the client is gone."""
        self._connection.on_lost = self._lost
        self.gone = self._connection.lost
        self._reader = asyncio.create_task(self._read(receive))
        self._reader.add_done_callback(lambda _: self._wake.set())
        try:
            headers = [(b"content-type", MEDIA_TYPE.encode()), (b"x-content-type-options", b"nosniff")]
            await send({"type": "http.response.start", "status": 200, "headers": headers})
            await self._write(send)
            await self._finish(send)
        finally:
            self._end()

    def stop_reading(self) -> None:
        """Read no further line: the response ends, unfinished, with the replies to those that have had their turn."""
        if not self._reader.done():
            self._cut = True
            self._reader.cancel()

    def abort(self) -> None:
        """Close the connection at once."""
        self._connection.abort()

    def deliver(self, line: Line) -> None:
        """Take the reply to a line."""
        self._in_flight -= 1
        self._active_s = time.monotonic()
        if not self.gone:
            self._outbox.put(line.reply)
        self._wake.set()

    async def _read(self, receive: Receive) -> None:
        more = True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                return
            self._active_s = time.monotonic()
            more = message.get("more_body", False)
            body = message.get("body", b"")
            self._shared.metrics.received(len(body))
            self._lines.feed(body)
            if not more:
                self._lines.end()
            await self._admit_all()

    async def _admit_all(self) -> None:
        """Submit the lines that have arrived, each in its turn; then get the permit for a long one, if it is needed."""
        lines = self._lines
        if self._long_line and (lines.ready or lines.pending <= LONG_LINE_BYTES):
            self._long_line.cancel()
        while lines.ready:
            await self._admit(lines.ready.popleft())
        if lines.pending <= LONG_LINE_BYTES:
            self._end_long_line()
        elif not self._long_line:
            await self._shared.long_lines.acquire()
            self._long_line = self._loop.call_later(LONG_LINE_S, self.abort)

    async def _admit(self, text: bytes | None) -> None:
        if not self._outbox.has_room:
            await self._outbox.room()
        size = len(text or b"")
        self._waiting = True
        await self._shared.admission.acquire(size)
        self._waiting = False
        self._in_flight += 1
        self._shared.submit(Line(self, text, size))
        self._end_long_line()

    def _end_long_line(self) -> None:
        if self._long_line:
            self._long_line.cancel()
            self._long_line = None
            self._shared.long_lines.release()

    async def _write(self, send: Send) -> None:
        """Send replies until there are no more to come."""
        while not self.gone and (self._in_flight or self._outbox or not self._reader.done()):
            await self._wake.wait()
            self._wake.clear()
            while self._outbox and not self.gone:
                data = self._outbox.take()
                await send({"type": "http.response.body", "body": data, "more_body": True})
                self._active_s = time.monotonic()
                if not self.gone:
                    self._outbox.sent(len(data))
                    self._shared.metrics.sent(len(data))

    async def _finish(self, send: Send) -> None:
        if self.gone:
            self._shared.metrics.disconnect()
        elif self._cut:
            await self._break_off(send)
        else:
            self._reader.result()  # raises its error, if it has one
            await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _break_off(self, send: Send) -> None:
        """Write the reason, and close without the end of the response, which no client takes for a whole one then."""
        error = encode_line(malformed_line(Malformed(None, "the server ends; some lines were not verified")))
        await send({"type": "http.response.body", "body": error.encode(), "more_body": True})
        self._connection.close()
        while not self.gone:  # or the server would log that the response has no end
            self._wake.clear()
            await self._wake.wait()

    def _lost(self) -> None:
        self.gone = True
        self._outbox.discard()
        self._reader.cancel()
        self._wake.set()

    def _abort_if_stalled(self) -> None:
        left_s = self._active_s + STALL_S - time.monotonic()
        if left_s <= 0 and not self._in_flight and not self._waiting:
            self.abort()
        else:
            self._stall_check = self._loop.call_later(max(left_s, STALL_S / 4), self._abort_if_stalled)

    def _end(self) -> None:
        self.gone = True
        self._connection.on_lost = None
        self._stall_check.cancel()
        self._reader.cancel()
        self._outbox.discard()
        self._end_long_line()
