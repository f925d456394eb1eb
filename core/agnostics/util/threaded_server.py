"""Servers on threads of their own, each with an event loop of its own."""

from __future__ import annotations

import asyncio
import socket
from abc import ABC, abstractmethod
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from threading import Thread
from typing import TYPE_CHECKING, ClassVar, Self

from agnostics.types.errors import AgnosticsError

if TYPE_CHECKING:
    import uvicorn

START_S = 30.0
STOP_S = 30.0


class ThreadedServer(ABC):
    """Serves on a thread, within its context or until `close`.

    Raises what `serve` raised before it listened, or AgnosticsError if it does not listen in time.
    """

    thread_name: ClassVar[str]

    def __init__(self) -> None:
        self._started = Future[None]()
        self._thread = Thread(target=self._run, name=self.thread_name, daemon=True)

    @abstractmethod
    async def serve(self, ready: Callable[[], None]) -> None:
        """Listen, call `ready`, and serve until it is cancelled."""

    def __enter__(self) -> Self:
        self._thread.start()
        try:
            self._started.result(timeout=START_S)
        except TimeoutError as error:
            raise AgnosticsError(f"{self.thread_name} did not start within {START_S:.0f} s") from error
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop to serve. Safe to call twice."""
        if self._thread.is_alive():
            with suppress(RuntimeError):  # it has ended meanwhile
                self._loop.call_soon_threadsafe(self._serving.cancel)
            self._thread.join(STOP_S)

    def _run(self) -> None:
        try:
            with suppress(asyncio.CancelledError):
                asyncio.run(self._serve())
        except Exception as error:
            if self._started.done():
                raise
            self._started.set_exception(error)

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._serving = asyncio.ensure_future(self.serve(lambda: self._started.set_result(None)))
        await self._serving


async def serve_with_uvicorn(server: uvicorn.Server, sockets: list[socket.socket]) -> None:
    """Serve until it is cancelled; the server ends then as at a signal, with the requests that it is answering."""
    serving = asyncio.ensure_future(server.serve(sockets=sockets))
    try:
        await asyncio.shield(serving)
    except asyncio.CancelledError:
        server.should_exit = True
        await serving
        raise
