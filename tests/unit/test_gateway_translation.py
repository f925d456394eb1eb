"""The three APIs of the gateway: each carries a conversation there and back without loss."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from contextlib import suppress
from itertools import pairwise
from typing import Any

import pytest
from agnostics.gateway.api import Api, ApiError, json_object
from agnostics.gateway.chat_completions import ChatCompletions, message_json, tool_choice_json, tool_json
from agnostics.gateway.conversation import ChatMessage, FunctionCall, FunctionTool, ModelReply
from agnostics.gateway.messages import Messages
from agnostics.gateway.responses import Responses
from hypothesis import given, settings
from hypothesis import strategies as st

APIS: tuple[Api, ...] = (ChatCompletions(), Responses(), Messages())
TOOLS = (
    FunctionTool("bash", "Runs a command.", {"type": "object", "properties": {"command": {"type": "string"}}}),
    FunctionTool("read", "Reads a file.", {"type": "object", "properties": {"path": {"type": "string"}}}),
)
texts = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12)
values = st.none() | st.booleans() | st.integers() | texts | st.lists(texts, max_size=2)
arguments = st.dictionaries(texts, values, max_size=2).map(lambda value: json.dumps(value, ensure_ascii=False))
names = "role content type text messages input tools tool_calls function name id output"
fields = st.sampled_from(names.split())
anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(fields, inner, max_size=3),
    max_leaves=10,
)


@st.composite
def turns(draw: st.DrawFn, number: int) -> list[ChatMessage]:
    """A question, and an answer that may call tools, whose results follow."""
    names = draw(st.lists(st.sampled_from([tool.name for tool in TOOLS]), max_size=3))
    calls = [FunctionCall(f"call_{number}_{i}", name, draw(arguments)) for i, name in enumerate(names)]
    text = draw(texts if not calls else texts | st.just(""))
    results = [ChatMessage("tool", draw(texts | st.just("")), call_id=call.id) for call in calls]
    return [ChatMessage("user", draw(texts)), ChatMessage("assistant", text, tuple(calls)), *results]


@st.composite
def conversations(draw: st.DrawFn) -> tuple[ChatMessage, ...]:
    system = [ChatMessage("system", text) for text in draw(st.lists(texts, max_size=1))]
    parts = [draw(turns(number)) for number in range(draw(st.integers(1, 3)))]
    return (*system, *(message for part in parts for message in part))


def chat_body(messages: Sequence[ChatMessage]) -> dict[str, Any]:
    tools = [tool_json(tool) for tool in TOOLS]
    return {"messages": [message_json(message) for message in messages], "tools": tools}


def responses_body(messages: Sequence[ChatMessage]) -> dict[str, Any]:
    def items(message: ChatMessage) -> list[dict[str, Any]]:
        if message.role == "tool":
            return [{"type": "function_call_output", "call_id": message.call_id, "output": message.text}]
        kind = "output_text" if message.role == "assistant" else "input_text"
        said = {"type": "message", "role": message.role, "content": [{"type": kind, "text": message.text}]}
        calls = [
            {"type": "function_call", "call_id": call.id, "name": call.name, "arguments": call.arguments}
            for call in message.calls
        ]
        return [*([said] if message.text or not calls else []), *calls]

    tools = [{"type": "function", **tool_json(tool)["function"]} for tool in TOOLS]
    return {"input": [item for message in messages for item in items(message)], "tools": tools}


def messages_body(messages: Sequence[ChatMessage]) -> dict[str, Any]:
    def block(message: ChatMessage) -> list[dict[str, Any]]:
        if message.role == "tool":
            return [{"type": "tool_result", "tool_use_id": message.call_id, "content": message.text}]
        text = [{"type": "text", "text": message.text}] if message.text else []
        calls = [
            {"type": "tool_use", "id": call.id, "name": call.name, "input": json.loads(call.arguments)}
            for call in message.calls
        ]
        return text + calls

    system = [message.text for message in messages if message.role == "system"]
    others = [
        {"role": "user" if message.role == "tool" else message.role, "content": block(message)}
        for message in messages
        if message.role != "system"
    ]
    tools = [{"name": tool.name, "description": tool.description, "input_schema": tool.parameters} for tool in TOOLS]
    return {**({"system": system[0]} if system else {}), "messages": others, "tools": tools, "max_tokens": 100}


BODIES = dict(zip(("chat", "responses", "messages"), (chat_body, responses_body, messages_body), strict=True))


@pytest.mark.parametrize("api", APIS, ids=lambda api: api.name)
@settings(max_examples=25)
@given(conversation=conversations())
def test_a_conversation_with_calls_and_results_arrives_as_it_was_sent(
    api: Api, conversation: tuple[ChatMessage, ...]
) -> None:
    request = api.parse(BODIES[api.name](conversation), 100).request
    assert request.messages == conversation
    assert request.tools == TOOLS


@pytest.mark.parametrize("api", APIS, ids=lambda api: api.name)
@settings(max_examples=25)
@given(before=conversations(), answer=turns(9))
def test_a_reply_that_the_client_sends_back_is_the_same_message(
    api: Api, before: tuple[ChatMessage, ...], answer: list[ChatMessage]
) -> None:
    question, said, *_ = answer
    body = BODIES[api.name]((*before, question))
    reply = api.reply(ModelReply(said.text, said.calls, 7, 3), api.parse(body, 100))
    history = body["input"] if api.name == "responses" else body["messages"]
    history += {
        "chat": lambda: [reply["choices"][0]["message"]],
        "responses": lambda: reply["output"],
        "messages": lambda: [{"role": "assistant", "content": reply["content"]}],
    }[api.name]()
    assert api.parse(body, 100).request.messages == (*before, question, said)


def data_of(events: Iterable[bytes]) -> list[dict[str, Any]]:
    lines = b"".join(events).decode().splitlines()
    return [json.loads(line.removeprefix("data: ")) for line in lines if line.startswith("data: {")]


@settings(max_examples=25)
@given(answer=turns(0))
def test_the_events_of_responses_are_numbered_and_make_up_the_reply(answer: list[ChatMessage]) -> None:
    api = Responses()
    parsed = api.parse(responses_body(answer[:1]), 100)
    body = api.reply(ModelReply(answer[1].text, answer[1].calls, 7, 3), parsed)
    events = data_of(api.events(body))
    assert [event["sequence_number"] for event in events] == list(range(len(events)))
    done = [event["item"] for event in events if event["type"] == "response.output_item.done"]
    assert done == body["output"] == events[-1]["response"]["output"]


def test_the_events_of_messages_have_a_beginning_and_an_end() -> None:
    api = Messages()
    asked = api.parse(messages_body([ChatMessage("user", "hello")]), 100)
    events = data_of(api.events(api.reply(ModelReply("hi", (), 7, 3), asked)))
    block = ["content_block_start", "content_block_delta", "content_block_stop"]
    assert [event["type"] for event in events] == ["message_start", *block, "message_delta", "message_stop"]


@pytest.mark.parametrize("api", APIS, ids=lambda api: api.name)
def test_a_reply_gets_no_more_tokens_than_the_session_has(api: Api) -> None:
    body = BODIES[api.name]([ChatMessage("user", "hello")])
    for asked, given_ in ((5, 5), (10**6, 100)):
        name = "max_output_tokens" if api.name == "responses" else "max_tokens"
        assert api.parse({**body, name: asked}, 100).request.max_tokens == given_


@pytest.mark.parametrize("api", APIS, ids=lambda api: api.name)
@pytest.mark.parametrize(
    "wrong",
    [
        {"messages": 1, "input": 1},
        {"messages": ["x"], "input": ["x"]},
        {"messages": [{"role": "king", "content": "x"}], "input": [{"role": "king", "content": "x"}]},
        {"messages": [{"role": "user", "content": 3}], "input": [{"role": "user", "content": 3}]},
        {"tools": [{"type": "function", "function": {}, "input_schema": 3, "name": 4}]},
        {"temperature": "hot"},
        {"max_tokens": 0, "max_output_tokens": 0},
        {"stream": "perhaps"},
    ],
    ids=lambda wrong: next(iter(wrong)),
)
def test_a_malformed_request_is_an_error_that_names_the_field(api: Api, wrong: dict[str, Any]) -> None:
    body = {**BODIES[api.name]([ChatMessage("user", "hello")]), **wrong}
    with pytest.raises(ApiError) as raised:
        api.parse(body, 100)
    assert raised.value.status == 400
    assert any(raised.value.message.startswith(name) for name in wrong)
    assert "message" in api.error(raised.value)["error"]


@settings(max_examples=40)
@given(anything)
def test_no_body_is_anything_but_a_request_or_an_error(value: Any) -> None:
    for api in APIS:
        for body in (value if isinstance(value, dict) else {}, {"messages": value, "input": value, "max_tokens": 1}):
            with suppress(ApiError):
                api.parse(body, 100)


def test_tools_of_responses_without_a_counterpart_come_back_as_they_were_given() -> None:
    api = Responses()
    tools = [
        {"type": "custom", "name": "apply_patch", "description": "Patches.", "format": {"type": "grammar"}},
        {"type": "namespace", "name": "agents", "tools": [{"type": "function", "name": "spawn", "parameters": {}}]},
        {"type": "web_search"},
    ]
    parsed = api.parse({"input": "go", "tools": tools}, 100)
    assert [tool.name for tool in parsed.request.tools] == ["apply_patch", "agents__spawn"]
    calls = (FunctionCall("1", "apply_patch", '{"input": "*** Begin"}'), FunctionCall("2", "agents__spawn", "{}"))
    patch, spawn = api.reply(ModelReply("", calls, 1, 1), parsed)["output"]
    assert (patch["type"], patch["name"], patch["input"]) == ("custom_tool_call", "apply_patch", "*** Begin")
    assert (spawn["type"], spawn["namespace"], spawn["name"]) == ("function_call", "agents", "spawn")
    again = api.parse({"input": [{"role": "user", "content": "go"}, patch, spawn], "tools": tools}, 100)
    assert again.request.messages[1].calls == calls


def test_what_a_model_cannot_read_is_named_in_its_place() -> None:
    parts = [{"type": "text", "text": "see"}, {"type": "image", "source": {"type": "base64", "data": "AAAA"}}]
    thinking = {
        "role": "assistant",
        "content": [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "ok"}],
    }
    body = {"messages": [{"role": "user", "content": parts}, thinking], "max_tokens": 1}
    seen, said = Messages().parse(body, 100).request.messages
    assert seen.text.startswith("see\n[a part of the type 'image'")
    assert said.text == "ok"


def test_a_choice_of_tools_means_the_same_in_each_api() -> None:
    asked = [ChatMessage("user", "go")]
    written: dict[str, list[Any]] = {
        "chat": ["auto", "none", "required", tool_choice_json("bash")],
        "responses": ["auto", "none", "required", {"type": "function", "name": "bash"}],
        "messages": [{"type": "auto"}, {"type": "none"}, {"type": "any"}, {"type": "tool", "name": "bash"}],
    }
    for api in APIS:
        choices = [api.parse({**BODIES[api.name](asked), "tool_choice": one}, 100).request for one in written[api.name]]
        assert [request.tool_choice for request in choices] == ["auto", "none", "required", "bash"]


@pytest.mark.parametrize("written", ['{"a": "\\ud800"}', '{"a": NaN}', '{"a": 1e999}', "[" * 100_000, "{", "x"])
def test_arguments_that_are_no_object_of_json_are_kept_as_a_text(written: str) -> None:
    assert json_object(written) == {"input": written}
    assert json_object('{"a": "\\ud83d\\ude00"}') == {"a": "\U0001f600"}


def test_calls_of_responses_belong_to_the_message_before_them() -> None:
    said = {"type": "message", "role": "assistant", "content": "Two."}
    calls = [{"type": "function_call", "call_id": str(i), "name": "bash", "arguments": "{}"} for i in range(2)]
    outputs = [{"type": "function_call_output", "call_id": str(i), "output": str(i)} for i in range(2)]
    thought = {"type": "reasoning", "summary": []}
    for items in ([thought, said, *calls, *outputs], [said, thought, *calls, *outputs]):
        messages = Responses().parse({"input": items}, 100).request.messages
        assert [message.role for message in messages] == ["assistant", "tool", "tool"]
        assert len(messages[0].calls) == 2
    alternating = [calls[0], outputs[0], calls[1], outputs[1]]
    roles = [message.role for message in Responses().parse({"input": alternating}, 100).request.messages]
    assert all(one != other for one, other in pairwise(roles))
