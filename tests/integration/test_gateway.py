"""The gateway over its socket: the official clients of its three APIs, its limits, and what it records."""

from __future__ import annotations

import http.client
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from agnostics.gateway import service
from agnostics.gateway.conversation import FunctionCall, ModelReply, ModelRequest
from agnostics.gateway.endpoint import EndpointBackend
from agnostics.gateway.limits import MAX_CONNECTIONS, GatewayLimits
from agnostics.gateway.recording import ModelCall
from agnostics.gateway.server import Gateway, listen_on_loopback, listen_on_unix_socket
from agnostics.inference.openai_client import ContextExceeded, Endpoint
from agnostics.types.errors import AgnosticsError
from chat_server import ChatServer

ASKED = [{"role": "user", "content": "What is in the folder?"}]
BASH = {"type": "object", "properties": {"command": {"type": "string"}}}
CALL = ModelReply("Let me see. ñ\n", (FunctionCall("call_1", "bash", '{"command": "ls"}'),), 12, 5)
ANSWER = ModelReply("Nothing.", (), 20, 2)
PATHS = {"chat": "/v1/chat/completions", "responses": "/v1/responses", "messages": "/v1/messages"}


@dataclass
class Scripted:
    """A model whose replies are those of a function."""

    reply: Callable[[ModelRequest], ModelReply]
    model: str = "scripted"
    context_tokens: int | None = None
    asked: list[ModelRequest] = field(default_factory=list)

    def complete(self, request: ModelRequest) -> ModelReply:
        self.asked.append(request)
        return self.reply(request)


@dataclass
class Rows:
    """The recorded calls."""

    calls: list[ModelCall] = field(default_factory=list)

    def record(self, call: ModelCall) -> None:
        self.calls.append(call)


def call_once(request: ModelRequest) -> ModelReply:
    return ANSWER if request.messages[-1].role == "tool" else CALL


@dataclass
class Served:
    gateway: Gateway
    model: Scripted
    rows: Rows

    @property
    def url(self) -> str:
        return f"{self.gateway.url}/v1"


@contextmanager
def served(reply: Callable[[ModelRequest], ModelReply] = call_once, **limits: Any) -> Iterator[Served]:
    model, rows = Scripted(reply), Rows()
    with Gateway(model, rows, listen_on_loopback(), GatewayLimits(**limits)) as gateway:
        yield Served(gateway, model, rows)


@pytest.fixture
def running() -> Iterator[Served]:
    with served() as one:
        yield one


def post(to: Served, api: str, body: Any, **headers: str) -> tuple[int, Any]:
    """The status and the JSON of a response."""
    host, port = to.gateway.url.removeprefix("http://").split(":")
    connection = http.client.HTTPConnection(host, int(port), timeout=30)
    sent = body if isinstance(body, bytes) else json.dumps(body).encode()
    given = {"authorization": f"Bearer {to.gateway.key}", **headers}
    connection.request("POST", PATHS.get(api, api), sent, given)
    response = connection.getresponse()
    answer = response.read()
    connection.close()
    return response.status, json.loads(answer)


def body_of(api: str, **fields: Any) -> dict[str, Any]:
    asked = {"input": "hello"} if api == "responses" else {"messages": [{"role": "user", "content": "hello"}]}
    return {"model": "any", **({"max_tokens": 9} if api == "messages" else {}), **asked, **fields}


def error_of(api: str, body: dict[str, Any]) -> dict[str, Any]:
    assert ("type" in body) == (api == "messages")
    return body["error"]


# The official clients.


@pytest.mark.parametrize("stream", [False, True])
def test_the_client_of_openai_plays_a_turn_of_chat_completions(running: Served, stream: bool) -> None:
    from openai import OpenAI

    client = OpenAI(base_url=running.url, api_key=running.gateway.key, max_retries=0)
    tools: Any = [{"type": "function", "function": {"name": "bash", "description": "Runs.", "parameters": BASH}}]
    messages: list[Any] = [*ASKED]

    def ask() -> Any:
        if not stream:
            return client.chat.completions.create(model="any", messages=messages, tools=tools)
        with client.chat.completions.stream(model="any", messages=messages, tools=tools) as events:
            return events.get_final_completion()

    first = ask()
    said = first.choices[0].message
    (call,) = said.tool_calls
    assert (said.content, call.id, call.function.arguments) == (CALL.text, "call_1", '{"command": "ls"}')
    assert (first.usage.prompt_tokens, first.usage.completion_tokens) == (12, 5)
    messages += [said.model_dump(exclude_none=True), {"role": "tool", "tool_call_id": call.id, "content": ""}]
    assert ask().choices[0].message.content == "Nothing."
    assert [model.id for model in client.models.list()] == ["scripted"]
    check_two_turns(running, "chat")


@pytest.mark.parametrize("stream", [False, True])
def test_the_client_of_openai_plays_a_turn_of_responses(running: Served, stream: bool) -> None:
    from openai import OpenAI

    client = OpenAI(base_url=running.url, api_key=running.gateway.key, max_retries=0)
    tools: Any = [{"type": "function", "name": "bash", "description": "Runs.", "parameters": BASH, "strict": False}]
    items: list[Any] = [*ASKED]

    def ask() -> Any:
        if not stream:
            return client.responses.create(model="any", input=items, tools=tools)
        with client.responses.stream(model="any", input=items, tools=tools) as events:
            return events.get_final_response()

    first = ask()
    said, call = first.output
    assert (said.content[0].text, call.call_id, call.arguments) == (CALL.text, "call_1", '{"command": "ls"}')
    assert (first.usage.input_tokens, first.usage.output_tokens) == (12, 5)
    items += [item.model_dump(exclude_none=True) for item in first.output]
    items += [{"type": "function_call_output", "call_id": call.call_id, "output": ""}]
    assert ask().output_text == "Nothing."
    check_two_turns(running, "responses")


@pytest.mark.parametrize("stream", [False, True])
def test_the_client_of_anthropic_plays_a_turn_of_messages(running: Served, stream: bool) -> None:
    anthropic = pytest.importorskip("anthropic")
    client = anthropic.Anthropic(base_url=running.gateway.url, api_key=running.gateway.key, max_retries=0)
    tools = [{"name": "bash", "description": "Runs.", "input_schema": BASH}]
    messages: list[Any] = [*ASKED]

    def ask() -> Any:
        options = {"model": "any", "max_tokens": 99, "messages": messages, "tools": tools}
        if not stream:
            return client.messages.create(**options)
        with client.messages.stream(**options) as events:
            return events.get_final_message()

    first = ask()
    said, call = first.content
    assert (said.text, call.id, call.input, first.stop_reason) == (CALL.text, "call_1", {"command": "ls"}, "tool_use")
    assert (first.usage.input_tokens, first.usage.output_tokens) == (12, 5)
    result = {"type": "tool_result", "tool_use_id": call.id, "content": ""}
    messages += [{"role": "assistant", "content": first.content}, {"role": "user", "content": [result]}]
    assert ask().content[0].text == "Nothing."
    assert [model.id for model in client.models.list()] == ["scripted"]
    check_two_turns(running, "messages")


def check_two_turns(running: Served, api: str) -> None:
    """What the model was asked, and the rows of both turns."""
    first, second = running.model.asked
    assert [message.role for message in second.messages] == ["user", "assistant", "tool"]
    assert second.messages[1] == CALL.message
    assert first.tools[0].parameters == BASH
    rows = running.rows.calls
    assert [(row.api, row.status, row.prompt_tokens, row.completion_tokens) for row in rows] == [
        (api, 200, 12, 5),
        (api, 200, 20, 2),
    ]
    assert "Nothing." in rows[1].response
    assert json.loads(rows[0].request)["model"] == "any"


# Errors.


@pytest.mark.parametrize("api", PATHS)
def test_a_request_without_the_key_of_the_session_is_refused_and_reaches_no_model(running: Served, api: str) -> None:
    for headers in ({"authorization": ""}, {"authorization": "Bearer x"}, {"authorization": "", "x-api-key": "y"}):
        status, body = post(running, api, body_of(api), **headers)
        assert (status, error_of(api, body)["type"]) == (401, "authentication_error")
    assert post(running, api, body_of(api), authorization="", **{"x-api-key": running.gateway.key})[0] == 200
    assert (len(running.model.asked), running.gateway.refused) == (1, 3)


@pytest.mark.parametrize("api", PATHS)
def test_a_body_that_is_no_request_is_an_error_in_the_form_of_the_api(running: Served, api: str) -> None:
    bodies = [b"", b"{", b"[]", b"\xff", b'{"a": NaN}', b"[" * 100_000, json.dumps(body_of(api, tools=3)).encode()]
    half = json.dumps(body_of(api)).replace("hello", "\\ud800").encode()
    for body in (*bodies, half):
        status, answer = post(running, api, body)
        assert (status, error_of(api, answer)["type"]) == (400, "invalid_request_error"), body[:20]
    assert post(running, api, body_of(api), **{"content-encoding": "gzip"})[0] == 415
    assert not running.model.asked
    assert not running.rows.calls


def test_a_path_that_is_none_is_an_error_in_the_form_of_its_api(running: Served) -> None:
    status, body = post(running, "/v1/messages/count_tokens", {})
    assert (status, error_of("messages", body)["type"]) == (404, "not_found_error")
    assert post(running, "/v1/embeddings", {})[0] == 404


@pytest.mark.parametrize("api", PATHS)
@pytest.mark.parametrize(("raised", "status"), [(ContextExceeded("4097 tokens"), 400), (AgnosticsError("gone"), 502)])
def test_an_error_of_the_model_is_told_and_recorded(api: str, raised: Exception, status: int) -> None:
    def fail(_: ModelRequest) -> ModelReply:
        raise raised

    with served(fail) as running:
        answered, body = post(running, api, body_of(api, stream=True))
        assert (answered, running.rows.calls[0].status) == (status, status)
        message = error_of(api, body)["message"]
        assert message == ("prompt is too long: 4097 tokens" if status == 400 else "gone")
        assert message in running.rows.calls[0].response


@pytest.mark.parametrize("api", PATHS)
def test_an_error_after_a_stream_has_begun_is_an_event(api: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "PING_S", 0.05)

    def fail(_: ModelRequest) -> ModelReply:
        time.sleep(0.3)
        raise AgnosticsError("gone")

    with served(fail) as running:
        host, port = running.gateway.url.removeprefix("http://").split(":")
        connection = http.client.HTTPConnection(host, int(port), timeout=30)
        headers = {"authorization": f"Bearer {running.gateway.key}"}
        connection.request("POST", PATHS[api], json.dumps(body_of(api, stream=True)), headers)
        response = connection.getresponse()
        text = response.read().decode()
        connection.close()
    assert response.status == 200
    assert text.count("ping") + text.count(": waiting") > 1
    assert "gone" in text.strip().rsplit("\n\n", 1)[-1]
    assert running.rows.calls[0].status == 502


# Limits.


def test_calls_wait_for_their_turn_and_no_more_than_allowed_ask_the_model_at_once() -> None:
    now, most, lock = 0, 0, threading.Lock()

    def slow(_: ModelRequest) -> ModelReply:
        nonlocal now, most
        with lock:
            now, most = now + 1, max(most, now + 1)
        time.sleep(0.2)
        with lock:
            now -= 1
        return ANSWER

    with served(slow, concurrent=2) as running:
        threads = [threading.Thread(target=post, args=(running, "chat", body_of("chat"))) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
    assert (most, len(running.rows.calls)) == (2, 6)


def test_a_call_that_finds_no_turn_is_refused_and_one_that_takes_too_long_is_cut_off_and_still_recorded() -> None:
    freed = threading.Event()

    def hang(_: ModelRequest) -> ModelReply:
        freed.wait(30)
        return ANSWER

    with served(hang, concurrent=1, turn_s=0.2, call_s=0.5) as running:
        first = threading.Thread(target=lambda: statuses.append(post(running, "messages", body_of("messages"))))
        statuses = list[tuple[int, Any]]()
        first.start()
        time.sleep(0.2)
        status, body = post(running, "chat", body_of("chat"))
        assert (status, error_of("chat", body)["type"]) == (429, "rate_limit_error")
        first.join(30)
        assert (statuses[0][0], error_of("messages", statuses[0][1])["type"]) == (504, "timeout_error")
        freed.set()
        wait_until(lambda: running.rows.calls)
        assert (running.rows.calls[0].status, running.rows.calls[0].completion_tokens) == (504, 2)


def test_a_body_that_is_too_large_or_never_ends_is_refused() -> None:
    with served(request_bytes=1000, turn_s=0.3) as running:
        status, body = post(running, "chat", body_of("chat", x="x" * 2000))
        assert (status, error_of("chat", body)["message"]) == (413, "the body has more than 1000 bytes")
        with connected(running) as slow:
            head = f"POST {PATHS['chat']} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {running.gateway.key}\r\n"
            slow.sendall(f"{head}Content-Length: 500\r\n\r\n{{".encode())
            assert slow.recv(1000).startswith(b"HTTP/1.1 408 ")
        assert post(running, "chat", body_of("chat"))[0] == 200
        assert running.gateway.refused == 2


def test_an_agent_that_floods_its_gateway_is_felt_by_no_other_session() -> None:
    with served() as flooded, served() as other:
        held = [socket.create_connection(address_of(flooded), timeout=30) for _ in range(3 * MAX_CONNECTIONS)]
        wait_until(lambda: sum(is_closed(one) for one in held) >= 2 * MAX_CONNECTIONS)
        began = time.monotonic()
        for api in PATHS:
            assert post(other, api, body_of(api))[0] == 200
        assert time.monotonic() - began < 5
        with pytest.raises((OSError, http.client.HTTPException)):
            post(flooded, "chat", body_of("chat"))
        for one in held:
            one.close()
        wait_until(lambda: is_served(flooded))


def test_a_key_opens_no_other_session(running: Served) -> None:
    with served() as other:
        assert post(other, "chat", body_of("chat"), authorization=f"Bearer {running.gateway.key}")[0] == 401


# The server.


def test_a_gateway_on_a_unix_socket_asks_an_endpoint_and_passes_its_counts_on(tmp_path: Path) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "bash", "arguments": '{"command": "ls"}'}}
    server = ChatServer(lambda _: {"content": None, "tool_calls": [call]})
    rows = Rows()
    path = tmp_path / "gateway"
    with (
        Endpoint(server.url, "small", retries=0) as endpoint,
        Gateway(EndpointBackend(endpoint), rows, listen_on_unix_socket(path)) as gateway,
        socket.socket(socket.AF_UNIX) as connection,
    ):
        connection.settimeout(30)
        connection.connect(str(path))
        tool = {"name": "bash", "input_schema": BASH}
        body = json.dumps(body_of("messages", tools=[tool], tool_choice={"type": "any"}))
        head = f"POST /v1/messages HTTP/1.0\r\nX-Api-Key: {gateway.key}\r\nContent-Length: {len(body)}\r\n\r\n"
        connection.sendall((head + body).encode())
        with connection.makefile("rb") as reader:
            answer = reader.read()
    server.close()
    block = json.loads(answer.partition(b"\r\n\r\n")[2])["content"][0]
    assert block == {"type": "tool_use", "id": "c1", "name": "bash", "input": {"command": "ls"}}
    (row,) = rows.calls
    assert (row.model, row.prompt_tokens, row.completion_tokens) == ("small", 100, 10)
    assert server.conversations == [[{"role": "user", "content": "hello"}]]


class FullRows(Rows):
    """What records nothing more."""

    def record(self, call: ModelCall) -> None:
        raise OSError(f"no space left for {call.api}")


def test_a_call_that_cannot_be_recorded_gets_no_reply_and_is_an_error_of_the_session() -> None:
    def call() -> None:
        with Gateway(Scripted(call_once), FullRows(), listen_on_loopback()) as gateway:
            assert post(Served(gateway, Scripted(call_once), Rows()), "chat", body_of("chat"))[0] == 500

    with pytest.raises(AgnosticsError, match="no space left for chat"):
        call()


def test_a_gateway_that_ends_waits_for_no_model_and_records_the_call_that_hangs() -> None:
    def hang(_: ModelRequest) -> ModelReply:
        time.sleep(20)
        return ANSWER

    with served(hang) as running:
        thread = threading.Thread(target=lambda: suppressed(lambda: post(running, "chat", body_of("chat"))))
        thread.start()
        wait_until(lambda: running.model.asked)
        began = time.monotonic()
    assert time.monotonic() - began < 5
    assert [(row.status, row.completion_tokens) for row in running.rows.calls] == [(503, 0)]
    thread.join(30)


def suppressed(function: Callable[[], object]) -> None:
    with suppress(OSError, http.client.HTTPException):
        function()


def address_of(to: Served) -> tuple[str, int]:
    host, port = to.gateway.url.removeprefix("http://").split(":")
    return host, int(port)


def connected(to: Served) -> socket.socket:
    return socket.create_connection(address_of(to), timeout=30)


def is_closed(connection: socket.socket) -> bool:
    connection.settimeout(0.0)
    try:
        return connection.recv(1) == b""
    except BlockingIOError:
        return False
    except OSError:
        return True


def is_served(to: Served) -> bool:
    with suppress(OSError, http.client.HTTPException):
        return post(to, "chat", body_of("chat"))[0] == 200
    return False


def wait_until(happened: Callable[[], object]) -> None:
    deadline = time.monotonic() + 20
    while not happened():
        assert time.monotonic() < deadline
        time.sleep(0.02)
