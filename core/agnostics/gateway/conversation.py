"""A conversation with a model, independent of the API that carries it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

Role = Literal["system", "user", "assistant", "tool"]
FinishReason = Literal["stop", "length", "tool_calls"]


@dataclass(frozen=True, slots=True)
class FunctionCall:
    """A call of a tool by the model: `arguments` is what it wrote, the text of a JSON object."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """A message. Only the assistant's have `calls`; the result of a call has the role `tool`, and `call_id`."""

    role: Role
    text: str
    calls: tuple[FunctionCall, ...] = ()
    call_id: str = ""


@dataclass(frozen=True, slots=True)
class FunctionTool:
    """A tool that the model may call. `parameters` is a JSON schema; that of a `custom` tool has one text, `input`.

    Only the API of responses has custom tools, and namespaces, which are part of the `name` here.
    """

    name: str
    description: str = ""
    parameters: Mapping[str, Any] = field(default_factory=lambda: {"type": "object", "properties": {}})
    custom: bool = False
    namespace: str = ""


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """A request for the next message of the assistant, of at most `max_tokens` tokens.

    `tool_choice` is `auto`, `none`, `required`, or the name of a tool. Without `temperature` it is the model's default.
    `seed` decides what is sampled, as far as the model has seeds.
    """

    messages: tuple[ChatMessage, ...]
    max_tokens: int
    tools: tuple[FunctionTool, ...] = ()
    tool_choice: str = "auto"
    temperature: float | None = None
    seed: int | None = None


@dataclass(frozen=True, slots=True)
class ModelReply:
    """A message of the assistant, and the tokens of the request and of the reply as the model counts them."""

    text: str
    calls: tuple[FunctionCall, ...]
    prompt_tokens: int
    completion_tokens: int
    truncated: bool = False
    """It reached `max_tokens`."""

    @property
    def finish_reason(self) -> FinishReason:
        """Why it ends."""
        if self.truncated:
            return "length"
        return "tool_calls" if self.calls else "stop"

    @property
    def message(self) -> ChatMessage:
        """The reply as a message of the conversation."""
        return ChatMessage("assistant", self.text, self.calls)


class ModelBackend(Protocol):
    """A model that answers requests; called from several threads at once."""

    @property
    def model(self) -> str:
        """The name of the model."""

    @property
    def context_tokens(self) -> int | None:
        """The longest conversation that the model takes, with its reply; None if that is not known."""

    def complete(self, request: ModelRequest) -> ModelReply:
        """The next message of the assistant.

        Raises ContextExceeded for a conversation that is too long, UsageError for a request that is refused, and
        AgnosticsError if the model cannot be reached or fails.
        """
