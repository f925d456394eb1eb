"""The API `/v1/responses`, as OpenAI defines it: without state, so that each request carries its whole conversation."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Literal

from pydantic import BaseModel, Field

from agnostics.gateway.api import (
    Api,
    ApiError,
    Body,
    Content,
    Json,
    ParsedRequest,
    event,
    json_object,
    new_id,
    text_of,
    validated,
)
from agnostics.gateway.chat_completions import openai_error
from agnostics.gateway.conversation import ChatMessage, FunctionCall, FunctionTool, ModelReply, ModelRequest, Role

_CALLS = ("function_call", "custom_tool_call")
_RESULTS = ("function_call_output", "custom_tool_call_output")
_CUSTOM_PARAMETERS: Mapping[str, Any] = {
    "type": "object",
    "properties": {"input": {"type": "string"}},
    "required": ["input"],
}


class _Item(BaseModel):
    """An item of the input: a message, a call, or the result of one. Others, such as reasoning, are left out."""

    type: str = "message"
    role: Literal["system", "developer", "user", "assistant"] | None = None
    content: Content = None
    call_id: str = ""
    name: str = ""
    namespace: str | None = None
    arguments: str = ""
    input: str = ""
    output: Content = None


class _Tool(BaseModel):
    """A tool. Those of other types than `function`, `custom` and `namespace` are run by OpenAI, and are left out."""

    type: str
    name: str = ""
    description: str | None = None
    parameters: Json | None = None
    tools: list[_Tool] = []


class _Choice(BaseModel):
    type: str
    name: str = ""


class _ResponsesBody(Body):
    input: str | list[_Item]
    instructions: str | None = None
    tools: list[_Tool] | None = None
    tool_choice: str | _Choice | None = None
    max_output_tokens: int | None = Field(None, ge=1)
    previous_response_id: str | None = None


class Responses(Api):
    """Responses, with function tools and custom tools."""

    name = "responses"
    path = "/v1/responses"

    def parse(self, body: Json, max_tokens: int) -> ParsedRequest:
        """See `Api.parse`."""
        form = validated(_ResponsesBody, body)
        if form.previous_response_id:
            raise ApiError(400, "previous_response_id: nothing is stored here; send the whole conversation as input")
        instructions = [ChatMessage("system", form.instructions)] if form.instructions else []
        items = [_Item(role="user", content=form.input)] if isinstance(form.input, str) else form.input
        request = ModelRequest(
            messages=(*instructions, *_messages(items)),
            max_tokens=min(form.max_output_tokens or max_tokens, max_tokens),
            tools=tuple(_tools(form.tools or ())),
            tool_choice=_tool_choice(form.tool_choice),
            temperature=form.temperature,
        )
        return ParsedRequest(request, form.model, form.stream)

    def reply(self, reply: ModelReply, parsed: ParsedRequest) -> Json:
        """See `Api.reply`."""
        tools = {tool.name: tool for tool in parsed.request.tools}
        output = [_message_item(reply.text)] if reply.text or not reply.calls else []
        output += [_call_item(call, tools.get(call.name, FunctionTool(call.name))) for call in reply.calls]
        return {
            **_response(parsed.model, "incomplete" if reply.truncated else "completed"),
            "incomplete_details": {"reason": "max_output_tokens"} if reply.truncated else None,
            "output": output,
            "usage": _usage(reply),
        }

    def events(self, reply: Json) -> Iterator[bytes]:
        """See `Api.events`."""
        return _numbered(_reply_events(reply))

    def error(self, error: ApiError) -> Json:
        """See `Api.error`."""
        return openai_error(error)

    def error_events(self, error: ApiError) -> Iterator[bytes]:
        """See `Api.error_events`."""
        cause = {"code": error.code or "server_error", "message": error.message}
        failed = {**_response("", "failed"), "error": cause, "output": [], "usage": None}
        return _numbered([{"type": "response.failed", "response": failed}])


def _response(model: str, status: str) -> Json:
    head = {"id": new_id("resp"), "object": "response", "created_at": int(time.time()), "status": status}
    return {**head, "model": model, "error": None, "parallel_tool_calls": True, "tool_choice": "auto", "tools": []}


def _usage(reply: ModelReply) -> Json:
    return {
        "input_tokens": reply.prompt_tokens,
        "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
        "output_tokens": reply.completion_tokens,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": reply.prompt_tokens + reply.completion_tokens,
    }


def _message_item(text: str) -> Json:
    part = {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
    return {"type": "message", "id": new_id("msg"), "role": "assistant", "status": "completed", "content": [part]}


def _call_item(call: FunctionCall, tool: FunctionTool) -> Json:
    name = tool.name.removeprefix(_in_namespace(tool.namespace, ""))
    head = {"call_id": call.id, "name": name, "status": "completed"}
    if tool.custom:
        return {"type": "custom_tool_call", "id": new_id("ctc"), **head, "input": _custom_input(call.arguments)}
    place = {"namespace": tool.namespace} if tool.namespace else {}
    return {"type": "function_call", "id": new_id("fc"), **head, **place, "arguments": call.arguments}


def _in_namespace(namespace: str | None, name: str) -> str:
    """The name by which the model knows a tool; other APIs have no namespaces, and no dots in names."""
    return f"{namespace}__{name}" if namespace else name


def _custom_input(arguments: str) -> str:
    """The text in the arguments of a custom tool, which the model calls as a function with one parameter."""
    text = json_object(arguments).get("input")
    return text if isinstance(text, str) else arguments


def _numbered(events: Iterable[Json]) -> Iterator[bytes]:
    for number, data in enumerate(events):
        yield event({**data, "sequence_number": number}, data["type"])


def _reply_events(reply: Json) -> Iterator[Json]:
    begun = {**reply, "status": "in_progress", "output": [], "usage": None, "incomplete_details": None}
    yield {"type": "response.created", "response": begun}
    yield {"type": "response.in_progress", "response": begun}
    for index, item in enumerate(reply["output"]):
        place = {"output_index": index, "item_id": item["id"]}
        in_progress = {**item, "status": "in_progress", **_EMPTY[item["type"]]}
        yield {"type": "response.output_item.added", "output_index": index, "item": in_progress}
        for data in _message_events(item) if item["type"] == "message" else _call_events(item):
            yield {**place, **data}
        yield {"type": "response.output_item.done", "output_index": index, "item": item}
    yield {"type": f"response.{reply['status']}", "response": reply}


_EMPTY: Mapping[str, Json] = {
    "message": {"content": []},
    "function_call": {"arguments": ""},
    "custom_tool_call": {"input": ""},
}


def _message_events(item: Json) -> Iterator[Json]:
    (part,) = item["content"]
    place = {"content_index": 0}
    yield {"type": "response.content_part.added", **place, "part": {**part, "text": ""}}
    yield {"type": "response.output_text.delta", **place, "delta": part["text"], "logprobs": []}
    yield {"type": "response.output_text.done", **place, "text": part["text"], "logprobs": []}
    yield {"type": "response.content_part.done", **place, "part": part}


def _call_events(item: Json) -> Iterator[Json]:
    field, kind = ("input", "custom_tool_call_input") if "input" in item else ("arguments", "function_call_arguments")
    yield {"type": f"response.{kind}.delta", "delta": item[field]}
    yield {"type": f"response.{kind}.done", field: item[field], "name": item["name"]}


def _messages(items: Iterable[_Item]) -> Iterator[ChatMessage]:
    """The messages in the items. Calls belong to the assistant's message before them, or make one together."""
    pending: ChatMessage | None = None
    for item in items:
        if item.type in _CALLS:
            before = pending or ChatMessage("assistant", "")
            pending = replace(before, calls=(*before.calls, _call(item)))
            continue
        message = _message(item)
        if message is None:
            continue
        if pending:
            yield pending
        pending = message if message.role == "assistant" else None
        if pending is None:
            yield message
    if pending:
        yield pending


def _call(item: _Item) -> FunctionCall:
    name = _in_namespace(item.namespace, item.name)
    custom = item.type == "custom_tool_call"
    arguments = json.dumps({"input": item.input}, ensure_ascii=False) if custom else item.arguments
    return FunctionCall(item.call_id, name, arguments)


def _message(item: _Item) -> ChatMessage | None:
    if item.type in _RESULTS:
        return ChatMessage("tool", text_of(item.output), call_id=item.call_id)
    if item.type != "message":
        return None
    if item.role is None:
        raise ApiError(400, "input: a message has no role")
    role: Role = "system" if item.role == "developer" else item.role
    return ChatMessage(role, text_of(item.content))


def _tools(items: Iterable[_Tool], namespace: str = "") -> Iterator[FunctionTool]:
    for item in items:
        name, description = _in_namespace(namespace, item.name), item.description or ""
        if item.type == "namespace":
            yield from _tools(item.tools, item.name)
        elif item.type == "custom":
            yield FunctionTool(name, description, _CUSTOM_PARAMETERS, custom=True)
        elif item.type == "function":
            tool = FunctionTool(name, description, namespace=namespace)
            yield replace(tool, parameters=item.parameters) if item.parameters else tool


def _tool_choice(choice: str | _Choice | None) -> str:
    if isinstance(choice, _Choice):
        return choice.name or "auto"
    return choice if choice in {"auto", "none", "required"} else "auto"
