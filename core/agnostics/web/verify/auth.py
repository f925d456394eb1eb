"""Who may use the service: those who have the token."""

from __future__ import annotations

import hmac

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

PUBLIC = {"/health"}
"""Paths that need no token: load balancers have none."""


class BearerAuth:
    """Requires the header `Authorization: Bearer TOKEN`."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app = app
        self._token = token.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] in PUBLIC or self._is_valid(Headers(scope=scope)):
            await self._app(scope, receive, send)
            return
        message = "the token of this server is needed: Authorization: Bearer TOKEN\n"
        response = PlainTextResponse(message, 401, {"www-authenticate": "Bearer"})
        await response(scope, receive, send)

    def _is_valid(self, headers: Headers) -> bool:
        scheme, _, given = headers.get("authorization", "").partition(" ")
        return scheme.lower() == "bearer" and hmac.compare_digest(given.strip().encode(), self._token)
