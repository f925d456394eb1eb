"""What the gateway needs of an API: how it writes requests, replies, streams and errors."""

from __future__ import annotations

import json
import secrets
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, TypeVar

from pydantic import BaseModel, Field, ValidationError

from agnostics.gateway.conversation import ModelReply, ModelRequest
from agnostics.inference.openai_client import ContextExceeded
from agnostics.types.errors import AgnosticsError, UsageError

Json = dict[str, Any]
_Form = TypeVar("_Form", bound=BaseModel)
UNSEEN = "[a part of the type {type!r} was here, which this model cannot read]"
"""Stands for images and files: the model reads text alone, and an agent would never be rid of a refused message."""


class Part(BaseModel):
    """A part of a message's content."""

    type: str = ""
    text: str | None = None
    refusal: str | None = None

    @property
    def shown(self) -> str:
        """Its text, or what stands for it."""
        text = self.text if self.text is not None else self.refusal
        return UNSEEN.format(type=self.type) if text is None else text


Content = str | list[Part] | None


class ApiError(Exception):
    """A request that the gateway refuses or cannot answer, with the HTTP status."""

    def __init__(self, status: int, message: str, *, code: str | None = None) -> None:
        super().__init__(message)
        self.status, self.message, self.code = status, message, code


def model_error(error: AgnosticsError) -> ApiError:
    """What the client is told of an error of the model.

    A conversation that is too long is named as the real APIs do: agents shorten it then.
    """
    if isinstance(error, ContextExceeded):
        return ApiError(400, f"prompt is too long: {error}", code="context_length_exceeded")
    return ApiError(400 if isinstance(error, UsageError) else 502, str(error))


class Body(BaseModel):
    """The fields of a request's body that each API has. Unknown ones are ignored."""

    model: str = ""
    stream: bool = False
    temperature: Annotated[float, Field(ge=0, le=2)] | None = None


@dataclass(frozen=True, slots=True)
class ParsedRequest:
    """A request of an API: the model's name as the client gives it, and whether it wants a stream."""

    request: ModelRequest
    model: str
    stream: bool


class Api(ABC):
    """One of the APIs. It has no state."""

    name: ClassVar[str]
    path: ClassVar[str]

    @abstractmethod
    def parse(self, body: Json, max_tokens: int) -> ParsedRequest:
        """The request in a body; its limit of tokens is `max_tokens` or less. Raises ApiError."""

    @abstractmethod
    def reply(self, reply: ModelReply, parsed: ParsedRequest) -> Json:
        """The body of a response."""

    @abstractmethod
    def events(self, reply: Json) -> Iterator[bytes]:
        """The body of a response as a stream of server-sent events."""

    @abstractmethod
    def error(self, error: ApiError) -> Json:
        """The body of a response with an error."""

    @abstractmethod
    def error_events(self, error: ApiError) -> Iterator[bytes]:
        """An error after the stream has begun."""

    def ping(self) -> bytes:
        """An event that means nothing, for clients that take silence for the end."""
        return b": waiting for the model\n\n"


def new_id(prefix: str) -> str:
    """A new id: `prefix`, an underscore and 24 hex digits."""
    return f"{prefix}_{secrets.token_hex(12)}"


def event(data: Any, name: str | None = None) -> bytes:
    """A server-sent event with JSON data."""
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {json.dumps(data)}\n\n".encode()


def validated(form: type[_Form], body: Json) -> _Form:
    """The fields of a body. Raises ApiError with the first thing that is wrong."""
    try:
        return form.model_validate(body)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"]))
        raise ApiError(400, f"{place}: {first['msg']}") from error


def text_of(content: Content) -> str:
    """The text of a message's content."""
    return content if isinstance(content, str) else "\n".join(part.shown for part in content or ())


def json_object(text: str) -> Json:
    """The object in the arguments of a call; its field `input` keeps what is none, or not JSON in Unicode."""
    try:
        value = json.loads(text or "{}")
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode()  # nor is half of a surrogate pair Unicode
    except (ValueError, RecursionError):
        value = text
    return value if isinstance(value, dict) else {"input": value}
