"""The web server of the results pages: binds the port, builds the URL, and serves until it is stopped."""

from __future__ import annotations

import secrets
from contextlib import suppress
from typing import Any

import uvicorn

from agnostics.store.read_only import ReadOnlyStore
from agnostics.util.listening import base_url, listen
from agnostics.web.app import application
from agnostics.web.auth import is_loopback

MAX_CONCURRENCY = 64
GRACE_SECONDS = 3


class ResultsServer:
    """The results pages on a bound port. `url` is their address, with the token if one is required."""

    def __init__(self, store: ReadOnlyStore, host: str, port: int) -> None:
        self._socket = listen(host, port, "name another with --port")
        token = None if is_loopback(host) else secrets.token_urlsafe(24)
        self.url = f"{base_url(host, self._socket)}/" + (f"?token={token}" if token else "")
        self.needs_token = token is not None
        app = application(store, token=token, cookie=f"agn-{self._socket.getsockname()[1]}")
        # The access log would contain the token.
        quiet: dict[str, Any] = {"log_level": "warning", "access_log": False, "server_header": False}
        limits: dict[str, Any] = {"limit_concurrency": MAX_CONCURRENCY, "timeout_graceful_shutdown": GRACE_SECONDS}
        config = uvicorn.Config(app, http="h11", ws="none", lifespan="off", **quiet, **limits)
        self.server = uvicorn.Server(config)

    def serve(self) -> None:
        """Serve until Ctrl-C, or until `server.should_exit` is set."""
        with self._socket, suppress(KeyboardInterrupt):
            self.server.run(sockets=[self._socket])

    def close(self) -> None:
        """Release the port."""
        self._socket.close()
