"""Who may ask, and what a browser may do with the answer. Everything shown was written by models or their programs."""

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
OPEN = "/static/"
"""What is no secret: the style of the page that asks for the token."""


class SafeHeaders:
    """Sends `HEADERS` with every answer, and lets no cache keep a page."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_safely(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.update(HEADERS)
                headers.setdefault("cache-control", "no-cache" if scope["path"].startswith(OPEN) else "no-store")
            await send(message)

        await self._app(scope, receive, send_safely)


class LocalHost:
    """Answers only what is asked of this machine by name: a page elsewhere may have its own name lead here."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or is_loopback(_name(Headers(scope=scope).get("host", ""))):
            await self._app(scope, receive, send)
            return
        await PlainTextResponse("this server answers only as localhost\n", 400)(scope, receive, send)


class Token:
    """Asks for `token`: once in the address, from then on in a cookie that no script and no other site can use."""

    def __init__(self, app: ASGIApp, token: str, cookie: str, templates: Jinja2Templates) -> None:
        self._app, self._token, self._cookie, self._templates = app, token, cookie, templates

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope)
        given = request.query_params.get("token")
        if request.url.path.startswith(OPEN) or (given is None and self._right(request.cookies.get(self._cookie))):
            await self._app(scope, receive, send)
            return
        answer = self._welcome(request) if self._right(given) else self._ask(request, wrong=given is not None)
        await answer(scope, receive, send)

    def _right(self, given: str | None) -> bool:
        return given is not None and hmac.compare_digest(given.encode(), self._token.encode())

    def _welcome(self, request: Request) -> Response:
        rest = [(name, value) for name, value in request.query_params.multi_items() if name != "token"]
        path = "/" + request.url.path.lstrip("/")  # two slashes would name another server
        answer = RedirectResponse(f"{path}?{urlencode(rest)}" if rest else path, 303)
        answer.set_cookie(self._cookie, self._token, httponly=True, samesite="strict")
        return answer

    def _ask(self, request: Request, *, wrong: bool) -> Response:
        return self._templates.TemplateResponse(request, "token.html", {"wrong": wrong}, 401)


def is_loopback(host: str) -> bool:
    """Whether `host`, a name or an address, is this machine and can be reached from no other."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def _name(host: str) -> str:
    """The name in a PluginManager header, without the port."""
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0]
