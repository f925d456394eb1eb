"""The API `/v1/messages`, as Anthropic defines it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Literal

from pydantic import BaseModel, Field

from agnostics.gateway.api import (
    Api,
    ApiError,
    Body,
    Content,
    Json,
    ParsedRequest,
    Part,
    event,
    json_object,
    new_id,
    text_of,
    validated,
)
from agnostics.gateway.conversation import ChatMessage, FunctionCall, FunctionTool, ModelReply, ModelRequest

_STOP_REASONS = {"stop": "end_turn", "length": "max_tokens", "tool_calls": "tool_use"}
_CHOICES = {"auto": "auto", "any": "required", "none": "none"}
_KINDS = {
    400: "invalid_request_error",
    401: "authentication_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    504: "timeout_error",
}


class _Block(Part):
    """A block of content: a text, a call (`tool_use`), the result of one, or what the model cannot read."""

    id: str = ""
    name: str = ""
    input: Json = Field(default_factory=dict)
    tool_use_id: str = ""
    content: Content = None
    is_error: bool | None = None


class _Message(BaseModel):
    role: Literal["user", "assistant", "system"]
    content: str | list[_Block]


class _Tool(BaseModel):
    """A tool. One without a schema is run by Anthropic's servers, and is left out."""

    name: str = ""
    description: str | None = None
    input_schema: Json | None = None


class _Choice(BaseModel):
    type: str
    name: str = ""


class _MessagesBody(Body):
    messages: list[_Message]
    system: Content = None
    tools: list[_Tool] | None = None
    tool_choice: _Choice | None = None
    max_tokens: int = Field(ge=1)


class Messages(Api):
    """Anthropic's messages, with tools that the client runs."""

    name = "messages"
    path = "/v1/messages"

    def parse(self, body: Json, max_tokens: int) -> ParsedRequest:
        """See `Api.parse`."""
        form = validated(_MessagesBody, body)
        system = [ChatMessage("system", text_of(form.system))] if form.system else []
        tools = [
            FunctionTool(tool.name, tool.description or "", tool.input_schema)
            for tool in form.tools or ()
            if tool.input_schema is not None
        ]
        request = ModelRequest(
            messages=(*system, *(message for item in form.messages for message in _messages(item))),
            max_tokens=min(form.max_tokens, max_tokens),
            tools=tuple(tools),
            tool_choice=_tool_choice(form.tool_choice),
            temperature=form.temperature,
        )
        return ParsedRequest(request, form.model, form.stream)

    def reply(self, reply: ModelReply, parsed: ParsedRequest) -> Json:
        """See `Api.reply`."""
        content: list[Json] = [{"type": "text", "text": reply.text}] if reply.text or not reply.calls else []
        content += [
            {"type": "tool_use", "id": call.id, "name": call.name, "input": json_object(call.arguments)}
            for call in reply.calls
        ]
        return {
            "id": new_id("msg"),
            "type": "message",
            "role": "assistant",
            "model": parsed.model,
            "content": content,
            "stop_reason": _STOP_REASONS[reply.finish_reason],
            "stop_sequence": None,
            "usage": {
                "input_tokens": reply.prompt_tokens,
                "cache_creation_input_tokens": 0,
                "cache_read_input_tokens": 0,
                "output_tokens": reply.completion_tokens,
            },
        }

    def events(self, reply: Json) -> Iterator[bytes]:
        """See `Api.events`."""
        begun = {**reply, "content": [], "stop_reason": None, "usage": {**reply["usage"], "output_tokens": 0}}
        yield _event("message_start", message=begun)
        for index, block in enumerate(reply["content"]):
            yield from _block_events(index, block)
        delta = {"stop_reason": reply["stop_reason"], "stop_sequence": None}
        yield _event("message_delta", delta=delta, usage=reply["usage"])
        yield _event("message_stop")

    def error(self, error: ApiError) -> Json:
        """See `Api.error`."""
        kind = _KINDS.get(error.status, "invalid_request_error" if error.status < 500 else "api_error")
        return {"type": "error", "error": {"type": kind, "message": error.message}}

    def error_events(self, error: ApiError) -> Iterator[bytes]:
        """See `Api.error_events`."""
        yield event(self.error(error), "error")

    def ping(self) -> bytes:
        """See `Api.ping`."""
        return _event("ping")


def _event(kind: str, **fields: object) -> bytes:
    return event({"type": kind, **fields}, kind)


def _block_events(index: int, block: Json) -> Iterator[bytes]:
    if block["type"] == "text":
        begun: Json = {"text": ""}
        delta = {"type": "text_delta", "text": block["text"]}
    else:
        arguments = json.dumps(block["input"], ensure_ascii=False)
        begun, delta = {"input": {}}, {"type": "input_json_delta", "partial_json": arguments}
    yield _event("content_block_start", index=index, content_block={**block, **begun})
    yield _event("content_block_delta", index=index, delta=delta)
    yield _event("content_block_stop", index=index)


def _messages(item: _Message) -> Iterator[ChatMessage]:
    """The messages in one: each result of a call is a message of its own, and so are the texts before and after it."""
    if isinstance(item.content, str):
        yield ChatMessage(item.role, item.content)
    elif item.role == "assistant":
        yield _assistant_message(item.content)
    else:
        texts = list[str]()
        for block in item.content:
            if block.type != "tool_result":
                texts.append(block.shown)
                continue
            if texts:
                yield ChatMessage(item.role, "\n".join(texts))
                texts.clear()
            yield ChatMessage("tool", text_of(block.content), call_id=block.tool_use_id)
        if texts or not item.content:
            yield ChatMessage(item.role, "\n".join(texts))


def _assistant_message(blocks: list[_Block]) -> ChatMessage:
    """The text and the calls of a message; its reasoning is not the model's, and is left out."""
    text = "\n".join(block.shown for block in blocks if block.type not in {"tool_use", *_REASONING})
    calls = [
        FunctionCall(block.id, block.name, json.dumps(block.input, ensure_ascii=False))
        for block in blocks
        if block.type == "tool_use"
    ]
    return ChatMessage("assistant", text, tuple(calls))


_REASONING = ("thinking", "redacted_thinking")


def _tool_choice(choice: _Choice | None) -> str:
    if choice is None:
        return "auto"
    return choice.name if choice.type == "tool" else _CHOICES.get(choice.type, "auto")
