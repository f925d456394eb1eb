"""Replies that clients have not taken: bounded for each client and over all of them."""

from __future__ import annotations

import asyncio
from collections import deque

FREE_BYTES = 128 << 10
"""A client with fewer bytes of replies may always submit, however many the others leave."""
MAX_BYTES = 64 << 20
"""The most that one client may leave. It is large because many send their whole body before they read a reply."""
MAX_TOTAL_BYTES = 256 << 20
_PIECE = 256 << 10


class Outboxes:
    """The bytes in all outboxes. For one event loop."""

    def __init__(self) -> None:
        self.bytes = 0
        self.blocked: set[Outbox] = set()
        """Those whose clients wait for room."""

    def add(self, size: int) -> None:
        """Count `size` more bytes, or fewer if it is negative; then those who have room again are woken."""
        self.bytes += size
        if size < 0:
            for outbox in self.blocked:
                outbox.wake_if_room()


class Outbox:
    """The replies to one client, in the order in which they were ready."""

    def __init__(self, outboxes: Outboxes) -> None:
        self.bytes = 0
        """Of the replies that wait, and of those that are being sent."""
        self._outboxes = outboxes
        self._lines: deque[bytes] = deque()
        self._woken = asyncio.Event()

    def __bool__(self) -> bool:
        return bool(self._lines)

    @property
    def has_room(self) -> bool:
        """True if the client may submit another program."""
        within = self.bytes <= MAX_BYTES and self._outboxes.bytes <= MAX_TOTAL_BYTES
        return within or self.bytes <= FREE_BYTES

    def put(self, line: bytes) -> None:
        """Append a reply."""
        self._lines.append(line)
        self.bytes += len(line)
        self._outboxes.add(len(line))

    def take(self) -> bytes:
        """The next replies, as many as are sent at once; they count until they are `sent`."""
        lines, size = [], 0
        while self._lines and size < _PIECE:
            lines.append(self._lines.popleft())
            size += len(lines[-1])
        return b"".join(lines)

    def sent(self, size: int) -> None:
        """`size` bytes of what was taken are sent."""
        self.bytes -= size
        self._outboxes.add(-size)

    def discard(self) -> None:
        """Drop all replies: the client is gone."""
        self._lines.clear()
        self.sent(self.bytes)

    async def room(self) -> None:
        """Wait until the client has taken enough to submit another program."""
        self._outboxes.blocked.add(self)
        try:
            while not self.has_room:
                self._woken.clear()
                await self._woken.wait()
        finally:
            self._outboxes.blocked.discard(self)

    def wake_if_room(self) -> None:
        """Continue `room`, if there is some."""
        if self.has_room:
            self._woken.set()
