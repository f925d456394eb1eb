"""Access control and security headers. Everything on the pages was written by models or their programs."""

from __future__ import annotations

import hmac
import ipaddress
from urllib.parse import urlencode

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.templating import Jinja2Templates
from starlette.types import ASGIApp, Message, Receive, Scope, Send

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
}
PUBLIC = "/static/"
"""Paths that need no token: the style of the page that asks for it."""


class SecurityHeaders:
    """Adds `HEADERS` to every response, and forbids caching of pages."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_safely(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.update(HEADERS)
                headers.setdefault("cache-control", "no-cache" if scope["path"].startswith(PUBLIC) else "no-store")
            await send(message)

        await self._app(scope, receive, send_safely)


class LoopbackOnly:
    """Rejects requests whose Host header is not this machine's loopback: a defence against DNS rebinding."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or is_loopback(_host_name(Headers(scope=scope).get("host", ""))):
            await self._app(scope, receive, send)
            return
        await PlainTextResponse("this server responds to localhost only\n", 400)(scope, receive, send)


class TokenAuth:
    """Requires `token`: first in the URL, then in a cookie that is HttpOnly and SameSite=strict."""

    def __init__(self, app: ASGIApp, token: str, cookie: str, templates: Jinja2Templates) -> None:
        self._app, self._token, self._cookie, self._templates = app, token, cookie, templates

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope)
        given = request.query_params.get("token")
        if request.url.path.startswith(PUBLIC) or (given is None and self._is_valid(request.cookies.get(self._cookie))):
            await self._app(scope, receive, send)
            return
        response = (
            self._log_in(request) if self._is_valid(given) else self._ask_for_token(request, wrong=given is not None)
        )
        await response(scope, receive, send)

    def _is_valid(self, given: str | None) -> bool:
        return given is not None and hmac.compare_digest(given.encode(), self._token.encode())

    def _log_in(self, request: Request) -> Response:
        rest = [(name, value) for name, value in request.query_params.multi_items() if name != "token"]
        path = "/" + request.url.path.lstrip("/")  # two slashes would redirect to another host
        response = RedirectResponse(f"{path}?{urlencode(rest)}" if rest else path, 303)
        response.set_cookie(self._cookie, self._token, httponly=True, samesite="strict")
        return response

    def _ask_for_token(self, request: Request, *, wrong: bool) -> Response:
        return self._templates.TemplateResponse(request, "token.html", {"wrong": wrong}, 401)


def is_loopback(host: str) -> bool:
    """Whether `host`, a name or an address, is a loopback address."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def _host_name(host: str) -> str:
    """The name in a Host header, without the port."""
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0]
