"""The server: binds the port, serves on a thread of its own, and drains."""

from __future__ import annotations

import asyncio
import select
import signal
import socket
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from threading import Event, Thread
from typing import Any, Self

import uvicorn

from agnostics.types.errors import AgnosticsError
from agnostics.types.language import Language
from agnostics.util.listening import base_url, listen
from agnostics.verify import Verifier
from agnostics.verify_stream.requests import RequestVerifier
from agnostics.web.verify.connection import IDLE_S, Connection
from agnostics.web.verify.languages import language_finder
from agnostics.web.verify.service import VerifyService

MAX_CONNECTIONS = 512
DRAIN_S = 30.0
"""The time that programs in flight have to end once the server drains."""
_EXIT_S = 10.0


class VerifyServer:
    """Serves a verifier on a bound port, for `languages` by name. A context manager.

    `url` is its address; requests need `token`, if there is one. Raises UsageError if it cannot listen there.
    """

    def __init__(
        self, verifier: Verifier, languages: Mapping[str, Language], host: str, port: int, token: str | None
    ) -> None:
        self._socket = listen(host, port, "name another with --serve HOST:PORT")
        self.url = base_url(host, self._socket)
        self._requests = RequestVerifier(verifier, language_finder(languages))
        self._slots = verifier.slots
        self._token = token
        self._ready = Event()
        self._ended = Event()
        self._wake_r, self._wake_w = socket.socketpair()
        self._wake_r.setblocking(False)
        self._wake_w.setblocking(False)
        self._thread = Thread(target=self._run, name="agnostics-http", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        self._ready.wait()
        return self

    def __exit__(self, *exception: object) -> None:
        """End at once, if it has not ended."""
        if not self._ended.is_set():
            self._call(self._force)
            self._wait_for_end(_EXIT_S)
        for opened in (self._socket, self._wake_r, self._wake_w):
            opened.close()

    @property
    def verified(self) -> int:
        """The number of programs that have had a verdict."""
        return self._service.verified

    @property
    def in_flight(self) -> int:
        """The number of programs that are not verified yet."""
        return self._service.in_flight

    def wait(self) -> None:
        """Wait until an interrupt, on the main thread. Raises AgnosticsError if the server ends by itself."""
        self._wait_for_end(float("inf"))
        raise AgnosticsError("the server has ended")

    def drain(self) -> None:
        """Take no more connections, requests or lines, and wait for the programs in flight, at most `DRAIN_S`."""
        self._call(self._drain)
        self._wait_for_end(DRAIN_S + _EXIT_S)

    def _wait_for_end(self, timeout_s: float) -> None:
        """Wait for the end of the thread; a signal interrupts it.

        The kernel may give a signal to any thread, and a main thread that waits for a lock then never hears of it.
        """
        deadline_s = time.monotonic() + timeout_s
        before = signal.set_wakeup_fd(self._wake_w.fileno(), warn_on_full_buffer=False)
        try:
            while not self._ended.is_set() and (left_s := deadline_s - time.monotonic()) > 0:
                select.select([self._wake_r], [], [], min(left_s, 3600))
                with suppress(BlockingIOError):
                    self._wake_r.recv(64)
        finally:
            signal.set_wakeup_fd(before)

    def _call(self, function: Callable[[], None]) -> None:
        with suppress(RuntimeError):  # the loop has just ended
            self._loop.call_soon_threadsafe(function)

    def _drain(self) -> None:
        self._service.drain(DRAIN_S)
        self._server.should_exit = True

    def _force(self) -> None:
        self._service.abort()
        self._server.should_exit = self._server.force_exit = True

    def _run(self) -> None:
        try:
            asyncio.run(self._serve())
        finally:
            self._ended.set()
            self._ready.set()
            with suppress(OSError):  # it is full, or nobody waits any more
                self._wake_w.send(b"\0")

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._service = VerifyService(self._requests, self._slots)
        self._server = uvicorn.Server(self._config())
        self._ready.set()
        try:
            await self._server.serve(sockets=[self._socket])
        finally:
            self._service.close()

    def _config(self) -> uvicorn.Config:
        quiet: dict[str, Any] = {"log_config": None, "log_level": "error", "access_log": False, "server_header": False}
        limits: dict[str, Any] = {"limit_concurrency": MAX_CONNECTIONS, "timeout_keep_alive": IDLE_S}
        app = self._service.application(self._token)
        return uvicorn.Config(app, http=Connection, ws="none", lifespan="off", **quiet, **limits)
