"""The API `/v1/chat/completions`, as OpenAI and vLLM's server define it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Literal

from pydantic import BaseModel, Field

from agnostics.gateway.api import Api, ApiError, Body, Content, Json, ParsedRequest, event, new_id, text_of, validated
from agnostics.gateway.conversation import ChatMessage, FunctionCall, FunctionTool, ModelReply, ModelRequest, Role

_CHOICES = ("auto", "none", "required")


class _CalledFunction(BaseModel):
    name: str
    arguments: str


class _Call(BaseModel):
    id: str
    function: _CalledFunction


class _Message(BaseModel):
    role: Literal["system", "developer", "user", "assistant", "tool"]
    content: Content = None
    tool_calls: list[_Call] | None = None
    tool_call_id: str = ""


class _Function(BaseModel):
    name: str
    description: str | None = None
    parameters: Json | None = None


class _Tool(BaseModel):
    function: _Function


class _Named(BaseModel):
    name: str


class _Chosen(BaseModel):
    function: _Named


class _ChatBody(Body):
    messages: list[_Message]
    tools: list[_Tool] | None = None
    tool_choice: str | _Chosen | None = None
    max_tokens: int | None = Field(None, ge=1)
    max_completion_tokens: int | None = Field(None, ge=1)
    seed: int | None = None


class ChatCompletions(Api):
    """Chat completions: one choice, with function tools."""

    name = "chat"
    path = "/v1/chat/completions"

    def parse(self, body: Json, max_tokens: int) -> ParsedRequest:
        """See `Api.parse`."""
        form = validated(_ChatBody, body)
        request = ModelRequest(
            messages=tuple(_message(item) for item in form.messages),
            max_tokens=min(form.max_completion_tokens or form.max_tokens or max_tokens, max_tokens),
            tools=tuple(_tool(item) for item in form.tools or ()),
            tool_choice=_tool_choice(form.tool_choice),
            temperature=form.temperature,
            seed=form.seed,
        )
        return ParsedRequest(request, form.model, form.stream)

    def reply(self, reply: ModelReply, parsed: ParsedRequest) -> Json:
        """See `Api.reply`."""
        message = message_json(reply.message)
        usage = {
            "prompt_tokens": reply.prompt_tokens,
            "completion_tokens": reply.completion_tokens,
            "total_tokens": reply.prompt_tokens + reply.completion_tokens,
        }
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": reply.finish_reason}
        head = {"id": new_id("chatcmpl"), "object": "chat.completion", "created": int(time.time())}
        return {**head, "model": parsed.model, "choices": [choice], "usage": usage}

    def events(self, reply: Json) -> Iterator[bytes]:
        """See `Api.events`. The last chunk counts the tokens, whether it was asked for or not."""
        choice = reply["choices"][0]
        message = choice["message"]
        calls = [{"index": i, **call} for i, call in enumerate(message.get("tool_calls", ()))]
        yield self._chunk(reply, {"role": "assistant", "content": message["content"] or ""})
        for call in calls:
            yield self._chunk(reply, {"tool_calls": [call]})
        yield self._chunk(reply, {}, finish_reason=choice["finish_reason"], usage=reply["usage"])
        yield b"data: [DONE]\n\n"

    def error(self, error: ApiError) -> Json:
        """See `Api.error`."""
        return openai_error(error)

    def error_events(self, error: ApiError) -> Iterator[bytes]:
        """See `Api.error_events`."""
        yield event(openai_error(error))

    def _chunk(self, reply: Json, delta: Json, *, finish_reason: str | None = None, usage: Json | None = None) -> bytes:
        choices = [{"index": 0, "delta": delta, "finish_reason": finish_reason}]
        return event({**reply, "object": "chat.completion.chunk", "choices": choices, "usage": usage})


def openai_error(error: ApiError) -> Json:
    """An error as OpenAI's APIs write it."""
    kinds = {401: "authentication_error", 429: "rate_limit_error"}
    kind = kinds.get(error.status, "invalid_request_error" if error.status < 500 else "server_error")
    return {"error": {"message": error.message, "type": kind, "param": None, "code": error.code}}


def request_json(request: ModelRequest, model: str) -> Json:
    """A request as this API writes it."""
    messages = [message_json(message) for message in request.messages]
    chosen_sampling = {"temperature": request.temperature, "seed": request.seed}
    sampling = {name: value for name, value in chosen_sampling.items() if value is not None}
    tools = [tool_json(tool) for tool in request.tools]
    chosen = {"tools": tools, "tool_choice": tool_choice_json(request.tool_choice)} if tools else {}
    return {"model": model, "messages": messages, "max_tokens": request.max_tokens, **sampling, **chosen}


def message_json(message: ChatMessage) -> Json:
    """A message as this API writes it."""
    if message.role == "tool":
        return {"role": "tool", "tool_call_id": message.call_id, "content": message.text}
    calls = [
        {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
        for call in message.calls
    ]
    content = {"content": message.text or (None if calls else "")}
    return {"role": message.role, **content, **({"tool_calls": calls} if calls else {})}


def tool_json(tool: FunctionTool) -> Json:
    """A tool as this API writes it. One that takes a text is a function with one parameter."""
    function = {"name": tool.name, "description": tool.description, "parameters": dict(tool.parameters)}
    return {"type": "function", "function": function}


def tool_choice_json(choice: str) -> str | Json:
    """The choice of a tool as this API writes it."""
    return choice if choice in _CHOICES else {"type": "function", "function": {"name": choice}}


def _message(item: _Message) -> ChatMessage:
    calls = tuple(FunctionCall(call.id, call.function.name, call.function.arguments) for call in item.tool_calls or ())
    role: Role = "system" if item.role == "developer" else item.role
    return ChatMessage(role, text_of(item.content), calls, item.tool_call_id)


def _tool(item: _Tool) -> FunctionTool:
    tool = FunctionTool(item.function.name, item.function.description or "")
    return replace(tool, parameters=item.function.parameters) if item.function.parameters else tool


def _tool_choice(choice: str | _Chosen | None) -> str:
    if isinstance(choice, _Chosen):
        return choice.function.name
    return choice if choice in _CHOICES else "auto"
