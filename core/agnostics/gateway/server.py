"""The server of a gateway: listens on a Unix socket, or on TCP, and serves on a thread of its own."""

from __future__ import annotations

import asyncio
import secrets
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from agnostics.gateway.conversation import ModelBackend
from agnostics.gateway.limits import MAX_CONNECTIONS, GatewayLimits
from agnostics.gateway.recording import CallRecorder
from agnostics.gateway.service import GatewayService
from agnostics.types.errors import AgnosticsError, describe_error
from agnostics.util.listening import base_url, listen
from agnostics.util.threaded_server import ThreadedServer, serve_with_uvicorn


class Gateway(ThreadedServer):
    """Serves a model to one session, whose requests carry `key`. A context manager.

    Each session has a gateway of its own, with its own socket, thread and limits: what floods or hangs there is felt
    nowhere else. Raises AgnosticsError if it does not start, and on leaving if a call could not be recorded.
    """

    thread_name = "agnostics-gateway"

    def __init__(
        self,
        backend: ModelBackend,
        recorder: CallRecorder,
        listening: socket.socket,
        limits: GatewayLimits = GatewayLimits(),  # noqa: B008  (it is immutable)
    ) -> None:
        super().__init__()
        self.key = secrets.token_hex(16)
        self._backend, self._recorder, self._limits = backend, recorder, limits
        self._socket = listening

    def __exit__(self, *exception: object) -> None:
        self._server.force_exit = True
        super().__exit__(*exception)
        self._socket.close()
        failure = self._service.failure
        if failure and exception[0] is None:
            raise AgnosticsError(f"a call of the model could not be recorded: {describe_error(failure)}") from failure

    @property
    def url(self) -> str:
        """The address of a gateway on TCP, without `/v1`."""
        return base_url(self._socket.getsockname()[0], self._socket)

    @property
    def refused(self) -> int:
        """The requests that did not reach the model."""
        return self._service.refused

    async def serve(self, ready: Callable[[], None]) -> None:
        """See `ThreadedServer.serve`."""
        self._service = GatewayService(self._backend, self._recorder, self.key, self._limits)
        self._server = uvicorn.Server(self._config())
        ready()
        try:
            await serve_with_uvicorn(self._server, [self._socket])
        finally:
            await self._service.close()

    def _config(self) -> uvicorn.Config:
        quiet: dict[str, Any] = {"log_config": None, "log_level": "error", "access_log": False, "server_header": False}
        app = self._service.application()
        return uvicorn.Config(app, http=_Connection, ws="none", lifespan="off", **quiet)


class _Connection(H11Protocol):
    """A connection, which is closed at once if there are too many."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if len(self.connections) > MAX_CONNECTIONS:
            transport.abort()


def listen_on_unix_socket(path: Path) -> socket.socket:
    """A socket at `path` that every user of this machine may connect to who may enter its folder."""
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listening.bind(str(path))
    path.chmod(0o666)
    listening.listen(MAX_CONNECTIONS)
    return listening


def listen_on_loopback() -> socket.socket:
    """A socket on a free port of 127.0.0.1."""
    return listen("127.0.0.1", 0, "try again")
