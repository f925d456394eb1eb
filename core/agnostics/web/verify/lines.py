"""The lines of a request's body, as its parts arrive."""

from __future__ import annotations

from collections import deque


class LineSplitter:
    """Splits a body into lines and leaves out blank ones. Of a line of more than `max_bytes` it keeps nothing."""

    def __init__(self, max_bytes: int) -> None:
        self.ready: deque[bytes | None] = deque()
        """The lines that have arrived whole, without their line feed; None for one that is too long."""
        self.pending = 0
        """The size in bytes of the line that has not arrived whole."""
        self._max_bytes = max_bytes
        self._parts: list[bytes] = []
        self._skipping = False

    def feed(self, data: bytes) -> None:
        """Take the next part of the body."""
        first, *others = data.split(b"\n")
        self._extend(first)
        for part in others:
            self.end()
            self._extend(part)

    def end(self) -> None:
        """The line that has begun ends here."""
        line = b"".join(self._parts)
        if line and not line.isspace():
            self.ready.append(line)
        self._parts.clear()
        self.pending, self._skipping = 0, False

    def _extend(self, part: bytes) -> None:
        if self._skipping:
            return
        self.pending += len(part)
        if self.pending > self._max_bytes:
            self.ready.append(None)
            self._parts.clear()
            self.pending, self._skipping = 0, True
        elif part:
            self._parts.append(part)
