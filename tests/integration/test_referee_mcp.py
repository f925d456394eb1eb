"""The operations of a session as an MCP server, spoken to by the package's own client."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from agent_session import BRAINFUCK, ECHO, SECRET, WRONG, AgentSession, agent_session
from agnostics.referee.client_binary import client_path
from agnostics.referee.mcp import McpService, mcp_server
from agnostics.verify import Verifier
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.types import CallToolResult, TextContent

KEY = "0123456789abcdef0123456789abcdef"


@pytest.fixture(scope="module")
def verifier() -> Iterator[Verifier]:
    with Verifier("bubblewrap", 1, languages={"brainfuck": BRAINFUCK}) as made:
        yield made


@pytest.fixture
def session(tmp_path: Path, verifier: Verifier) -> Iterator[AgentSession]:
    with agent_session(tmp_path, verifier) as made:
        yield made


def text_of(result: CallToolResult) -> str:
    """The one text of a result."""
    (content,) = result.content
    assert isinstance(content, TextContent)
    return content.text


async def play(client: Client) -> None:
    """Solve the first problem at the second try."""
    tools = {tool.name: tool.input_schema["required"] for tool in (await client.list_tools()).tools}
    assert tools == {
        "fetch": [],
        "run": ["program"],
        "submit": ["problem", "program"],
        "status": [],
        "skip": [],
        "export": [],
    }
    assert "Print the input." in text_of(await client.call_tool("fetch", {}))
    ran = await client.call_tool("run", {"program": ECHO, "stdin": "hello"})
    assert (ran.structured_content["stdout"], ran.is_error) == ("hello", False)
    assert (await client.call_tool("run", {"program": "+."})).structured_content["verdict"] == "accepted"
    for program, solved in ((WRONG, False), (ECHO, True)):
        made = await client.call_tool("submit", {"problem": "one", "program": program})
        assert made.structured_content["solved"] is solved
    refused = await client.call_tool("submit", {"problem": "one", "program": ECHO})
    assert refused.is_error
    assert "final" in text_of(refused)
    exported = await client.call_tool("export", {})
    assert SECRET not in str(exported)


def test_a_player_goes_through_a_session_with_tools(session: AgentSession) -> None:
    async def talk() -> None:
        async with Client(mcp_server(session.referee)) as client:
            await play(client)

    asyncio.run(talk())
    assert session.referee.state.solved == 1
    assert [kind for kind, _ in session.events()] == ["fetch", "run", "run", "submit", "submit", "refused"]


@pytest.mark.parametrize(
    ("tool", "arguments", "reason"),
    [
        ("solve", {}, "unknown_operation"),
        ("_record", {"kind": "submit"}, "unknown_operation"),
        ("submit", {"problem": "one"}, "malformed"),
        ("submit", {"problem": "one", "program": 7}, "malformed"),
        ("fetch", {"next": True}, "malformed"),
    ],
)
def test_a_call_that_is_no_operation_is_refused_and_recorded(
    session: AgentSession, tool: str, arguments: dict[str, Any], reason: str
) -> None:
    async def talk() -> bool | None:
        async with Client(mcp_server(session.referee)) as client:
            return (await client.call_tool(tool, arguments)).is_error

    assert asyncio.run(talk())
    assert session.refusals() == [reason]


SERVE = """
import asyncio, sys
from agnostics.referee.mcp import serve_stdio
from agnostics.referee.referee import Referee
from agnostics.store.store import Store
from agnostics.verify import Verifier
from agnostics_lang_esolangs import agn_languages
language = next(language for language in agn_languages() if language.name == "brainfuck")
with Store.open(sys.argv[1]) as store, Verifier("bubblewrap", 1, languages={"brainfuck": language}) as verifier:
    asyncio.run(serve_stdio(Referee(store, sys.argv[2], verifier, language)))
"""


def test_the_server_speaks_over_stdio(session: AgentSession) -> None:
    server = StdioServerParameters(
        command=sys.executable, args=["-c", SERVE, session.url, session.referee.name], env=dict(os.environ)
    )

    async def talk() -> None:
        async with Client(server) as client:
            await play(client)

    asyncio.run(talk())
    assert [kind for kind, _ in session.events()] == ["fetch", "run", "run", "submit", "submit", "refused"]


@contextmanager
def _forwarded(path: Path) -> Iterator[str]:
    """The address at which the socket `path` is a port of this machine, by the client of the box."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    process = subprocess.Popen([str(client_path()), "forward", str(port), str(path), "--", "sleep", "120"])
    try:
        for _ in range(100):
            with socket.socket() as trial:
                if not trial.connect_ex(("127.0.0.1", port)):
                    break
            time.sleep(0.05)
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        process.terminate()
        process.wait(timeout=10)


async def _play_over_http(url: str, token: str) -> None:
    async with (
        httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}, timeout=60) as http,
        Client(streamable_http_client(url, http_client=http)) as client,
    ):
        await play(client)


def test_the_server_speaks_over_http_to_those_with_the_key(session: AgentSession, tmp_path: Path) -> None:
    with McpService(session.referee, tmp_path / "mcp", KEY), _forwarded(tmp_path / "mcp") as url:
        for token in ("", KEY[:-1], KEY + "0"):
            with pytest.raises(Exception):  # noqa: B017, PT011  (a group of what the client's tasks raise)
                asyncio.run(_play_over_http(url, token))
        assert set(session.refusals()) == {"wrong_key"}
        asyncio.run(_play_over_http(url, KEY))
    assert session.referee.state.solved == 1
