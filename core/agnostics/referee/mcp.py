"""The operations of a player as tools of an MCP server, over stdio or over HTTP on a Unix socket.

In a box the socket is a port: `session forward PORT /session/mcp -- AGENT`. A request over HTTP carries the session's
key as a bearer token.
"""

from __future__ import annotations

import asyncio
import hmac
import socket
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agnostics.referee.operations import ARGUMENTS, perform
from agnostics.referee.referee import Referee
from agnostics.referee.refusals import PAUSE_S, Refusals
from agnostics.types.errors import MissingRequirement
from agnostics.util.threaded_server import ThreadedServer, serve_with_uvicorn

if TYPE_CHECKING:
    from mcp.server import Server
    from starlette.types import ASGIApp, Receive, Scope, Send

CONNECTIONS = 16
"""The connections over HTTP that are open at once; others wait in the kernel."""
MAX_REQUEST = 4 << 20
"""The largest request over HTTP, in bytes."""
_TURN_PAUSE_S = 0.01
"""The time after a request, and after a connection, until the next one of its session."""
_STOP_S = 10
_DESCRIPTIONS: Mapping[str, str] = {
    "fetch": "Show the open problem; if there is none, open the next one.",
    "run": "Run a program on an input of your own, and show what it prints.",
    "submit": "Submit a program to the hidden tests of the open problem.",
    "status": "Show what is solved, and what is left.",
    "skip": "Leave the open problem unsolved, where the rules allow it.",
    "export": "Show the whole session as JSON.",
}
_ARGUMENTS: Mapping[str, str] = {
    "program": "The text of the program.",
    "stdin": "What the program reads.",
    "problem": "The id of the problem, as fetch shows it.",
}
_OPTIONAL = {"stdin": ""}


def mcp_server(referee: Referee) -> Server[Any]:
    """The MCP server of a session. Raises MissingRequirement if the package `mcp` is not installed."""
    try:
        import mcp.types as types
        from mcp.server import Server
    except ImportError as error:
        raise MissingRequirement("the MCP server needs the package mcp; run: pip install 'agnostics[mcp]'") from error

    async def list_tools(_: object, __: object) -> types.ListToolsResult:
        return types.ListToolsResult(
            tools=[
                types.Tool(name=name, description=_DESCRIPTIONS[name], input_schema=_schema(arguments))
                for name, arguments in ARGUMENTS.items()
            ]
        )

    async def call_tool(_: object, call: types.CallToolRequestParams) -> types.CallToolResult:
        arguments = _in_order(call.name, call.arguments or {})
        reply = await asyncio.to_thread(perform, referee, call.name, arguments)
        return types.CallToolResult(
            content=[types.TextContent(type="text", text=reply.text)],
            structured_content=reply.data,
            is_error=not reply.ok,
        )

    return Server("agnostics", on_list_tools=list_tools, on_call_tool=call_tool)


async def serve_stdio(referee: Referee) -> None:
    """Serve a session over this process's standard input and output, until the input ends."""
    server = mcp_server(referee)
    from mcp.server.stdio import stdio_server

    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


def _schema(arguments: tuple[str, ...]) -> dict[str, Any]:
    """The JSON schema of an operation's arguments."""
    return {
        "type": "object",
        "properties": {name: {"type": "string", "description": _ARGUMENTS[name]} for name in arguments},
        "required": [name for name in arguments if name not in _OPTIONAL],
        "additionalProperties": False,
    }


def _in_order(operation: str, given: Mapping[str, Any]) -> list[str]:
    """The arguments of a call in the order of the operation; those that do not fit are too many, and refused."""
    names = ARGUMENTS.get(operation, ())
    complete = {**{name: _OPTIONAL[name] for name in names if name in _OPTIONAL}, **given}
    if set(complete) == set(names) and all(isinstance(value, str) for value in complete.values()):
        return [complete[name] for name in names]
    return [""] * (len(names) + 1)


class McpService(ThreadedServer):
    """The MCP server of `referee` over HTTP, at `/mcp` of the Unix socket `path`. A context manager."""

    thread_name = "agnostics-mcp"

    def __init__(self, referee: Referee, path: Path, key: str) -> None:
        super().__init__()
        app = mcp_server(referee).streamable_http_app(
            json_response=True, stateless_http=True, max_request_body_size=MAX_REQUEST
        )
        self._app = _WithKey(app, Refusals(referee), key)
        self._path = path

    async def serve(self, ready: Callable[[], None]) -> None:
        """See `ThreadedServer.serve`."""
        import uvicorn

        quiet: dict[str, Any] = {"log_config": None, "log_level": "error", "access_log": False, "server_header": False}
        self._server = uvicorn.Server(
            uvicorn.Config(self._app, timeout_graceful_shutdown=_STOP_S, lifespan="on", **quiet)
        )
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(str(self._path))
            self._path.chmod(0o666)  # the folder keeps other users out
            listener.listen(CONNECTIONS)
            listener.setblocking(False)
            accepting = asyncio.create_task(self._accept(listener, ready))
            try:
                await serve_with_uvicorn(self._server, [])
            finally:
                accepting.cancel()

    async def _accept(self, listener: socket.socket, ready: Callable[[], None]) -> None:
        """Hand connections to uvicorn, which itself would take any number in any time."""
        loop, server = asyncio.get_running_loop(), self._server
        open_connections = server.server_state.connections
        while not server.started:
            await asyncio.sleep(_TURN_PAUSE_S)
        ready()
        while True:
            connection, _ = await loop.sock_accept(listener)
            await loop.connect_accepted_socket(self._protocol, connection)
            await asyncio.sleep(_TURN_PAUSE_S)
            while len(open_connections) >= CONNECTIONS:
                await asyncio.sleep(PAUSE_S)

    def _protocol(self) -> asyncio.Protocol:
        """What uvicorn makes for each connection."""
        config, server = self._server.config, self._server
        protocol: type[Any] = config.http_protocol_class
        made: asyncio.Protocol = protocol(
            config=config, server_state=server.server_state, app_state=server.lifespan.state
        )
        return made


class _WithKey:
    """Passes on the requests that carry the key, one at a time; the others are refused, and recorded."""

    def __init__(self, app: ASGIApp, refusals: Refusals, key: str) -> None:
        self._app = app
        self._refusals = refusals
        self._token = f"Bearer {key}".encode()
        self._turn = asyncio.Lock()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and not self._has_key(scope):
            from starlette.responses import JSONResponse

            text = "this is not the key of the session"
            reply = await asyncio.to_thread(self._refusals.refuse, "mcp", "wrong_key", text)
            await asyncio.sleep(PAUSE_S)
            await JSONResponse({"error": reply.text}, 401)(scope, receive, send)
        elif scope["type"] == "http":
            async with self._turn:
                await self._app(scope, receive, send)
                await asyncio.sleep(_TURN_PAUSE_S)
        else:
            await self._app(scope, receive, send)

    def _has_key(self, scope: Scope) -> bool:
        given = dict(scope["headers"]).get(b"authorization", b"")
        return hmac.compare_digest(given, self._token)
