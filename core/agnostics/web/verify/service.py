"""The service as an ASGI application: /verify, /metrics and /health."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from agnostics.verify_stream.requests import RequestVerifier
from agnostics.web.auth import LoopbackOnly
from agnostics.web.verify.admission import Admission
from agnostics.web.verify.auth import BearerAuth
from agnostics.web.verify.metrics import Metrics
from agnostics.web.verify.stream import MEDIA_TYPE, ClientStream, Shared
from agnostics.web.verify.workers import Line, Workers

MEDIA_TYPES = {MEDIA_TYPE, "application/jsonl", "application/json"}
"""Media types of a body. A web page of another site cannot send any of them without asking, which nothing grants."""


class VerifyService:
    """Verifies the lines of all requests. Made and used on one event loop; `close` ends its threads."""

    def __init__(self, requests: RequestVerifier, slots: int) -> None:
        self.verified = 0
        """The number of programs that have had a verdict."""
        self.metrics = Metrics()
        self._loop = asyncio.get_running_loop()
        self._workers = Workers(requests, self.metrics, self._deliver_later)
        self._admission = Admission(slots)
        self._shared = Shared(self._admission, self.metrics, self._workers.submit)
        self._streams: set[ClientStream] = set()
        self._draining = False
        self.metrics.add_gauges(
            {
                "clients": lambda: len(self._streams),
                "clients_waiting": lambda: self._admission.waiting,
                "in_flight": lambda: self._admission.programs,
                "in_flight_bytes": lambda: self._admission.bytes,
                "unsent_bytes": lambda: self._shared.outboxes.bytes,
                "slots": lambda: slots,
            }
        )

    def application(self, token: str | None) -> Starlette:
        """The application; with a `token`, for requests that carry it, else for requests to localhost only."""
        auth = Middleware(LoopbackOnly) if token is None else Middleware(BearerAuth, token)
        return Starlette(
            routes=[
                Route("/verify", self, methods=["POST"]),
                Route("/metrics", self._metrics, methods=["GET"]),
                Route("/health", self._health, methods=["GET"]),
            ],
            middleware=[Middleware(CountResponses, self.metrics), auth],
        )

    @property
    def in_flight(self) -> int:
        """The number of programs in the sandbox and its queue."""
        return self._admission.programs

    def drain(self, limit_s: float) -> None:
        """Take no more requests or lines; responses end with the programs in flight, and are cut off at the limit."""
        self._draining = True
        for stream in self._streams:
            stream.stop_reading()
        self._loop.call_later(limit_s, self.abort)

    def abort(self) -> None:
        """Close the connections of all requests."""
        for stream in self._streams:
            stream.abort()

    def close(self) -> None:
        """End the threads."""
        self._workers.close()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve /verify."""
        refusal = self._refusal(Headers(scope=scope))
        if refusal:
            await refusal(scope, receive, send)
            return
        stream = ClientStream(scope["state"]["connection"], self._shared)
        self._streams.add(stream)
        try:
            await stream.run(receive, send)
        finally:
            self._streams.discard(stream)

    def _refusal(self, headers: Headers) -> Response | None:
        if self._draining:
            return PlainTextResponse("this server is ending\n", 503, {"retry-after": "5", "connection": "close"})
        media_type = headers.get("content-type", "").partition(";")[0].strip().lower()
        if media_type not in MEDIA_TYPES:
            return PlainTextResponse(f"send JSON lines as Content-Type: {MEDIA_TYPE}\n", 415)
        if headers.get("content-encoding", "identity") != "identity":
            return PlainTextResponse("send the body without Content-Encoding\n", 415)
        return None

    async def _metrics(self, _: Request) -> Response:
        return Response(generate_latest(self.metrics.registry), headers={"content-type": CONTENT_TYPE_LATEST})

    async def _health(self, _: Request) -> Response:
        return PlainTextResponse("ending\n", 503) if self._draining else PlainTextResponse("ok\n")

    def _deliver_later(self, lines: list[Line]) -> None:
        with suppress(RuntimeError):  # the loop has ended, and with it all connections
            self._loop.call_soon_threadsafe(self._deliver, lines)

    def _deliver(self, lines: list[Line]) -> None:
        for line in lines:
            self._admission.release(line.size, line.run_s or None)
            self.verified += line.run_s is not None
            line.stream.deliver(line)


class CountResponses:
    """Counts the responses of /verify by status."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def counting(message: Message) -> None:
            if message["type"] == "http.response.start":
                self._metrics.response(message["status"])
            await send(message)

        counted = scope["type"] == "http" and scope["path"] == "/verify"
        await self._app(scope, receive, counting if counted else send)
