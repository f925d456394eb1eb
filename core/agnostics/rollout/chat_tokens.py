"""Conversations of clients that send them whole each time, as tokens of a model."""

from __future__ import annotations

import hashlib
import json
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from jinja2 import TemplateError

from agnostics.environments.tools.announcement import json_announcement
from agnostics.environments.tools.form import CallForm
from agnostics.gateway.api import json_object
from agnostics.gateway.chat_completions import tool_json
from agnostics.gateway.conversation import ChatMessage, FunctionCall, FunctionTool, ModelRequest
from agnostics.rollout.conversation import ConversationRenderer
from agnostics.rollout.prompts import call_form_of, render_conversation
from agnostics.types.errors import UsageError
from agnostics.util.text import first_line

_HELD = 64
"""Conversations whose tokens are remembered, more than run side by side."""


class ChatTokens:
    """Renders the conversations of requests, and remembers those that were answered.

    A conversation that goes on after a remembered answer is continued from its tokens, as an episode is: what was
    sampled is not rendered again, so that the engine has its keys and values. Used by one thread at a time.
    """

    def __init__(self, renderer: ConversationRenderer) -> None:
        self._renderer = renderer
        self._knows_tools = "tools" in str(renderer.tokenizer.chat_template)
        self._answered = OrderedDict[bytes, tuple[int, ...]]()
        self.form: CallForm = call_form_of(renderer.tokenizer) if self._knows_tools else "qwen"
        """The form in which the model calls tools."""

    def prompt(self, request: ModelRequest) -> tuple[int, ...]:
        """The tokens of the conversation up to the answer. Raises UsageError if the chat template refuses it."""
        return self._continued(request) or self._rendered(request)

    def add_answer(self, request: ModelRequest, answer: ChatMessage, token_ids: tuple[int, ...]) -> None:
        """Remember the tokens of a conversation with its answer."""
        self._answered[_digest(request.tools, [*request.messages, answer])] = token_ids
        if len(self._answered) > _HELD:
            self._answered.popitem(last=False)

    def _continued(self, request: ModelRequest) -> tuple[int, ...] | None:
        """The tokens of an answered conversation and of the messages after it, if it is remembered."""
        messages = request.messages
        end = max((place for place, one in enumerate(messages, 1) if one.role == "assistant"), default=0)
        answered = self._answered.get(_digest(request.tools, messages[:end]))
        if answered is None or end == len(messages):
            return None
        try:
            end_of_turn, tokens = self._renderer.continuation([(self._role(one), one.text) for one in messages[end:]])
        except (TemplateError, UsageError):
            return None
        has_ended = answered[-1:] == end_of_turn[-1:]
        return (*answered, *tokens) if has_ended else (*answered, *end_of_turn, *tokens)

    def _rendered(self, request: ModelRequest) -> tuple[int, ...]:
        tools = [tool_json(tool) for tool in request.tools]
        if self._knows_tools or not tools:
            messages = list(request.messages)
        else:
            messages, tools = list(_with_announcement(request.messages, tools)), []
        written = [self._template_message(message) for message in messages]
        renderer = self._renderer
        try:
            return tuple(render_conversation(renderer.tokenizer, written, renderer.settings, tools=tools))
        except TemplateError as error:
            raise UsageError(f"the model's chat template refuses the conversation: {first_line(error)}") from error

    def _template_message(self, message: ChatMessage) -> dict[str, Any]:
        """A message as chat templates take it, whose calls have objects as arguments."""
        written: dict[str, Any] = {"role": self._role(message), "content": message.text}
        if message.calls and self._knows_tools:
            calls = [{"name": call.name, "arguments": json_object(call.arguments)} for call in message.calls]
            return {**written, "tool_calls": [{"type": "function", "function": call} for call in calls]}
        return {
            **written,
            "content": "\n".join([*([message.text] if message.text else []), *map(_as_text, message.calls)]),
        }

    def _role(self, message: ChatMessage) -> str:
        """The role of a message; without one of tools in the template, that of the user for it."""
        if message.role != "tool":
            return message.role
        frames = self._renderer.frames
        return "user" if frames["tool"] is frames["user"] else "tool"


def _with_announcement(messages: Sequence[ChatMessage], tools: Sequence[Mapping[str, Any]]) -> Iterator[ChatMessage]:
    """The messages with the tools in the system prompt, for a template that does not know of tools."""
    announced, rest = json_announcement(tools, "qwen"), messages
    if messages[:1] and messages[0].role == "system":
        announced, rest = f"{messages[0].text}\n\n{announced}", messages[1:]
    yield ChatMessage("system", announced)
    yield from rest


def _as_text(call: FunctionCall) -> str:
    body = json.dumps({"name": call.name, "arguments": json_object(call.arguments)}, ensure_ascii=False)
    return f"<tool_call>\n{body}\n</tool_call>"


def _digest(tools: Sequence[FunctionTool], messages: Sequence[ChatMessage]) -> bytes:
    """What tells conversations apart, but for ids of calls, white space around texts, and how arguments are written."""
    written = [
        [one.role, one.text.strip(), [[call.name, json_object(call.arguments)] for call in one.calls]]
        for one in messages
    ]
    content = json.dumps([[tool_json(tool) for tool in tools], written], sort_keys=True)
    return hashlib.blake2b(content.encode(), digest_size=16).digest()
