"""Connections of clients: one that begins no request is closed, and one that is lost says so at once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

IDLE_S = 20
"""A connection on which no request is under way is closed after this time, or up to twice of it."""


class Connection(H11Protocol):
    """A connection, which the application finds in `scope["state"]["connection"]`."""

    app_state: dict[str, Any]

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.app_state = {**self.app_state, "connection": self}
        self.lost = False
        self.on_lost: Callable[[], None] | None = None
        """Called once the client is gone. ASGI's `receive` tells only those who read on."""
        self._idle_check: asyncio.TimerHandle | None = None
        self._idle_since: object = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._idle_check = self.loop.call_later(IDLE_S, self._close_if_idle)

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        if self._idle_check:
            self._idle_check.cancel()
        self.lost = True
        if self.on_lost:
            self.on_lost()

    def close(self) -> None:
        """Close it after what is written; a response that has not ended is seen to be incomplete."""
        self.transport.close()

    def abort(self) -> None:
        """Close it at once."""
        self.transport.abort()

    def _close_if_idle(self) -> None:
        """Abort if the time since the last check passed without a request: its head is trickling, or never came."""
        idle = self.cycle is None or self.cycle.response_complete
        if idle and self._idle_since is (self.cycle or self):
            self.abort()
            return
        self._idle_since = (self.cycle or self) if idle else None
        self._idle_check = self.loop.call_later(IDLE_S, self._close_if_idle)
