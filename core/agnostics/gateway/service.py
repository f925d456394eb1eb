"""The gateway as an ASGI application: the three APIs, the list of models, and one session's limits."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from agnostics.gateway.api import Api, ApiError, Json, ParsedRequest, model_error
from agnostics.gateway.background import in_background
from agnostics.gateway.chat_completions import ChatCompletions
from agnostics.gateway.conversation import ModelBackend, ModelReply
from agnostics.gateway.limits import GatewayLimits
from agnostics.gateway.messages import Messages
from agnostics.gateway.reading import read_json, require_key
from agnostics.gateway.recording import CallRecorder, ModelCall
from agnostics.gateway.responses import Responses
from agnostics.types.errors import AgnosticsError

APIS: tuple[Api, ...] = (ChatCompletions(), Responses(), Messages())
PING_S = 5.0
"""A stream begins after this time though its reply is not there: an error until then has a status of its own."""


@dataclass(slots=True)
class _Call:
    """A call whose body has arrived."""

    api: Api
    text: str
    parsed: ParsedRequest
    at: datetime = field(default_factory=lambda: datetime.now(UTC))
    began: float = field(default_factory=time.monotonic)
    timed_out: bool = False
    """Its client was told that it takes too long."""


class GatewayService:
    """Answers the calls of one session, which carry `key`, and records each one that reaches the model.

    Made and used on one event loop.
    """

    def __init__(self, backend: ModelBackend, recorder: CallRecorder, key: str, limits: GatewayLimits) -> None:
        self.refused = 0
        """The requests that did not reach the model: without the key, too large, too slow, too many, or malformed."""
        self.failure: BaseException | None = None
        """An error that is not the agent's, nor the model's: the record of a call is lost."""
        self._backend, self._recorder, self._key, self._limits = backend, recorder, key, limits
        self._turns = asyncio.Semaphore(limits.concurrent)
        self._running = set[asyncio.Task[Json]]()

    def application(self) -> Starlette:
        """The application."""
        routes = [Route(api.path, self._route(api), methods=["POST"]) for api in APIS]
        models = Route("/v1/models", self._models, methods=["GET"])
        return Starlette(routes=[*routes, models], exception_handlers={HTTPException: self._unknown_path})

    async def close(self) -> None:
        """Cancel the calls under way, and record them."""
        running = list(self._running)
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)

    def _route(self, api: Api) -> Callable[[Request], Awaitable[Response]]:
        async def endpoint(request: Request) -> Response:
            return await self._answer(api, request)

        return endpoint

    async def _answer(self, api: Api, request: Request) -> Response:
        deadline = time.monotonic() + self._limits.call_s
        try:
            call = await self._admit(api, request)
        except ApiError as error:
            self.refused += 1
            return _error_response(api, error)
        task = self._start(call)
        try:
            if call.parsed.stream and not await _is_done(task, PING_S):
                return StreamingResponse(self._stream(call, task, deadline), media_type="text/event-stream")
            body = await self._result(call, task, deadline)
        except ApiError as error:
            return _error_response(api, error)
        if call.parsed.stream:
            return StreamingResponse(api.events(body), media_type="text/event-stream")
        return _json_response(200, body)

    async def _admit(self, api: Api, request: Request) -> _Call:
        """The call, which has a turn until it ends. Raises ApiError."""
        require_key(request.headers, self._key)
        await self._take_turn()
        try:
            async with asyncio.timeout(self._limits.turn_s):
                text, body = await read_json(request, self._limits.request_bytes)
            return _Call(api, text, api.parse(body, self._limits.output_tokens))
        except BaseException as error:
            self._turns.release()
            if isinstance(error, TimeoutError):
                raise ApiError(408, f"the body has not arrived within {self._limits.turn_s:g} s") from error
            if isinstance(error, ClientDisconnect):
                raise ApiError(400, "the body is incomplete") from error
            raise

    async def _take_turn(self) -> None:
        try:
            async with asyncio.timeout(self._limits.turn_s):
                await self._turns.acquire()
        except TimeoutError as error:
            raise ApiError(429, f"{self._limits.concurrent} other calls of this session are under way") from error

    def _start(self, call: _Call) -> asyncio.Task[Json]:
        """Ask the model, in a task that outlives an impatient client: its tokens are used, and are recorded."""
        task = asyncio.create_task(self._complete(call))
        self._running.add(task)
        task.add_done_callback(self._end)
        return task

    def _end(self, task: asyncio.Task[Json]) -> None:
        self._turns.release()
        self._running.discard(task)
        error = None if task.cancelled() else task.exception()
        if error and not isinstance(error, ApiError):
            self.failure = self.failure or error

    async def _complete(self, call: _Call) -> Json:
        """The body of the reply, which is recorded. Raises ApiError, recorded too, if the model has none."""
        try:
            reply = await in_background(lambda: self._backend.complete(call.parsed.request))
        except AgnosticsError as cause:
            error = model_error(cause)
            await self._record(call, error.status, call.api.error(error), None)
            raise error from cause
        except BaseException as cause:
            error = ApiError(503, "the gateway is closed" if isinstance(cause, asyncio.CancelledError) else "it failed")
            await self._record(call, error.status, call.api.error(error), None)
            raise
        body = call.api.reply(reply, call.parsed)
        await self._record(call, 200, body, reply)
        return body

    async def _record(self, call: _Call, status: int, body: Json, reply: ModelReply | None) -> None:
        recorded = ModelCall(
            at=call.at,
            api=call.api.name,
            model=self._backend.model,
            prompt_tokens=reply.prompt_tokens if reply else 0,
            completion_tokens=reply.completion_tokens if reply else 0,
            seconds=time.monotonic() - call.began,
            status=504 if call.timed_out else status,
            request=call.text,
            response=json.dumps(body),
        )
        await in_background(lambda: self._recorder.record(recorded))

    async def _result(self, call: _Call, task: asyncio.Task[Json], deadline: float) -> Json:
        """The result of the task. Raises ApiError, also if it is not there at the deadline."""
        if not await _is_done(task, deadline - time.monotonic()):
            call.timed_out = True
            raise ApiError(504, f"the model has not answered within {self._limits.call_s:g} s")
        try:
            return task.result()
        except ApiError:
            raise
        except (Exception, asyncio.CancelledError) as error:
            raise ApiError(500, "the call could not be carried out or recorded") from error

    async def _stream(self, call: _Call, task: asyncio.Task[Json], deadline: float) -> AsyncIterator[bytes]:
        while not task.done() and time.monotonic() < deadline:
            yield call.api.ping()
            await _is_done(task, min(PING_S, deadline - time.monotonic()))
        try:
            events = call.api.events(await self._result(call, task, deadline))
        except ApiError as error:
            events = call.api.error_events(error)
        for event in events:
            yield event

    async def _models(self, request: Request) -> Response:
        """The model, in the forms of OpenAI and of Anthropic at once."""
        try:
            require_key(request.headers, self._key)
        except ApiError as error:
            return _error_response(APIS[0], error)
        name = self._backend.model
        openai = {"id": name, "object": "model", "created": 0, "owned_by": "agnostics"}
        anthropic = {"type": "model", "display_name": name, "created_at": "1970-01-01T00:00:00Z"}
        page = {"object": "list", "has_more": False, "first_id": name, "last_id": name}
        return _json_response(200, {**page, "data": [{**openai, **anthropic}]})

    async def _unknown_path(self, request: Request, error: Exception) -> Response:
        api = next((api for api in APIS if request.url.path.startswith(api.path)), APIS[0])
        status = error.status_code if isinstance(error, HTTPException) else 500
        known = ", ".join(api.path for api in APIS)
        return _error_response(api, ApiError(status, f"nothing is here for this method; there are {known}, /v1/models"))


async def _is_done(task: asyncio.Task[Json], timeout_s: float) -> bool:
    await asyncio.wait({task}, timeout=max(0.0, timeout_s))
    return task.done()


def _error_response(api: Api, error: ApiError) -> Response:
    """The error; the connection of a body that was not read is of no more use."""
    return _json_response(error.status, api.error(error), close=error.status in {401, 408, 413, 429})


def _json_response(status: int, body: Json, *, close: bool = False) -> Response:
    headers = {"connection": "close"} if close else None
    return Response(json.dumps(body), status, headers, media_type="application/json")
