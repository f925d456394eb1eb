"""Client of a model behind an OpenAI-compatible endpoint (vLLM's server, OpenAI's, and many others)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import urlsplit

from pydantic import BaseModel, Field, ValidationError

from agnostics.types.errors import AgnosticsError, MissingRequirement, UsageError
from agnostics.util.text import plural

if TYPE_CHECKING:
    from openai import APIError, OpenAI

Message = Mapping[str, Any]
"""A chat message: `{"role": "user", "content": …}`; the assistant's may have `tool_calls`."""

_NO_KEY = "none"  # local servers need no key, but the client does
_CONNECT_S = 10.0
_MAX_STOPS = 4
_RETRIED_STATUSES = {408, 409, 429}
_REFUSED_STATUSES = {400, 413, 422}
_HINTS = {
    400: "if the prompt is too long for the model, lower --context",
    401: "put the key of the server into the variable that --key-from names",
    403: "use a key with access to the model {model!r}",
    404: "check the URL, which often ends in /v1, and that it serves the model {model!r}",
    413: "lower --context",
    422: "check the name of the model, {model!r}",
}


class CalledFunction(BaseModel):
    """The function of a call, and its arguments as the model wrote them."""

    name: str
    arguments: str = ""


class EndpointCall(BaseModel):
    """A call of a tool. Some servers give it no id."""

    id: str | None = None
    function: CalledFunction


@dataclass(frozen=True, slots=True)
class EndpointCompletion:
    """A completion, `truncated` if it reached its limit of tokens. Token counts are 0 if the server reports none."""

    text: str
    prompt_tokens: int
    completion_tokens: int
    truncated: bool = False
    calls: tuple[EndpointCall, ...] = ()


class _ChatMessage(BaseModel):
    content: str | None = None
    tool_calls: list[EndpointCall] | None = None


class _ChatChoice(BaseModel):
    message: _ChatMessage
    finish_reason: str | None = None

    @property
    def content(self) -> str:
        return self.message.content or ""

    @property
    def calls(self) -> tuple[EndpointCall, ...]:
        return tuple(self.message.tool_calls or ())


class _TextChoice(BaseModel):
    text: str
    finish_reason: str | None = None
    calls: tuple[EndpointCall, ...] = ()

    @property
    def content(self) -> str:
        return self.text


class _Usage(BaseModel):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None


class _CompletionResponse(BaseModel):
    """The fields that are read of a response, to a chat or a text completion request."""

    choices: list[_ChatChoice | _TextChoice] = Field(min_length=1)
    usage: _Usage | None = None


class RequestRefused(UsageError):
    """The server refuses this request (400, 413, 422), but may accept another."""


class ContextExceeded(RequestRefused):
    """The server refuses a conversation that is longer than its model holds; as far as its message says so."""


class Endpoint:
    """The model `model` at `url` (`https://host/v1`); a context manager.

    `timeout_s` limits the server's silence. Transient failures (429, 5xx, a lost connection, a timeout) are retried
    `retries` times, with exponential backoff or the pause that the server requests.

    Raises UsageError for an invalid URL or key, MissingRequirement without the package `openai`.
    """

    def __init__(
        self, url: str, model: str, key: str | None = None, *, timeout_s: float = 600.0, retries: int = 5
    ) -> None:
        self.url, self.model = _valid_url(url), model
        self._key, self._timeout_s, self._retries = _valid_key(key), timeout_s, retries
        self._client = self._open()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self._client.close()

    def chat(
        self,
        messages: Sequence[Message],
        *,
        max_tokens: int,
        temperature: float | None = None,
        seed: int | None = None,
        tools: Sequence[Mapping[str, Any]] = (),
        tool_choice: str | Mapping[str, Any] = "auto",
    ) -> EndpointCompletion:
        """A chat completion of at most `max_tokens`; without `temperature` and `seed`, at the server's default.

        `tools` and `tool_choice` are as the API writes them.

        Raises RequestRefused or UsageError if the server refuses the request, AgnosticsError if it cannot be reached,
        fails, or sends no chat completion.
        """
        from openai import APIError, BadRequestError

        sampling = {"temperature": temperature, "seed": seed}
        options: dict[str, Any] = {name: value for name, value in sampling.items() if value is not None}
        if tools:
            options |= {"tools": tools, "tool_choice": tool_choice}
        try:
            try:
                content = self._send(messages, max_tokens=max_tokens, **options)
            except BadRequestError as error:
                if "max_completion_tokens" not in error.message:
                    raise
                content = self._send(messages, max_completion_tokens=max_tokens, **options)
        except APIError as error:
            raise self._error_for(error) from error
        return self._parse(content)

    def complete(self, prompt: str, *, stop: Sequence[str], max_tokens: int, temperature: float) -> EndpointCompletion:
        """A text completion of `prompt` up to the first of `stop`, of which four are sent; see `chat` for errors."""
        from openai import APIError

        send = self._client.completions.with_raw_response.create
        options: dict[str, Any] = {"stop": list(stop[:_MAX_STOPS])} if stop else {}
        try:
            response = send(model=self.model, prompt=prompt, max_tokens=max_tokens, temperature=temperature, **options)
        except APIError as error:
            raise self._error_for(error) from error
        return self._parse(response.http_response.content)

    def _open(self) -> OpenAI:
        try:
            from openai import OpenAI, Timeout
        except ModuleNotFoundError as error:
            raise MissingRequirement(
                f"{error.name} is not installed; run: pip install 'agnostics[endpoint]'"
            ) from error
        timeout = Timeout(self._timeout_s, connect=min(_CONNECT_S, self._timeout_s))
        return OpenAI(base_url=self.url, api_key=self._key, timeout=timeout, max_retries=self._retries)

    def _send(self, messages: Sequence[Message], **options: Any) -> bytes:
        sent: Any = [dict(message) for message in messages]
        response = self._client.chat.completions.with_raw_response.create(model=self.model, messages=sent, **options)
        return response.http_response.content

    def _parse(self, content: bytes) -> EndpointCompletion:
        try:
            response = _CompletionResponse.model_validate_json(content)
        except ValidationError as error:
            start = _one_line(content[:4096].decode(errors="replace"), self._key)
            raise AgnosticsError(
                f"{self.display_url}: the response is no chat completion: {start!r}; is this an OpenAI-compatible API?"
            ) from error
        choice, usage = response.choices[0], response.usage or _Usage()
        truncated = choice.finish_reason == "length"
        tokens = usage.prompt_tokens or 0, usage.completion_tokens or 0
        return EndpointCompletion(choice.content, *tokens, truncated, choice.calls)

    @property
    def display_url(self) -> str:
        """The URL for messages, without a password."""
        parts = urlsplit(self.url)
        return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()

    def _error_for(self, error: APIError) -> AgnosticsError:
        """The error to raise for the client's `error`: the failure, the attempts and the next step, on one line."""
        from openai import APIConnectionError, APIStatusError, APITimeoutError

        attempts = f"after {plural(self._retries + 1, 'attempt')}"
        if isinstance(error, APITimeoutError):
            silence = f"no response within {self._timeout_s:g} s, {attempts}"
            return AgnosticsError(f"{self.display_url}: {silence}; give it more time with --timeout")
        if isinstance(error, APIConnectionError):
            cause = _one_line(str(error.__cause__ or error), self._key)
            return AgnosticsError(
                f"{self.display_url}: no connection {attempts} ({cause}); is the server running there?"
            )
        message = _one_line(_message(error), self._key)
        status = error.status_code if isinstance(error, APIStatusError) else 0
        if 400 <= status < 500 and status not in _RETRIED_STATUSES:
            hint = _HINTS.get(status, "correct the request").format(model=self.model)
            kind = _kind_of(status, message)
            return kind(f"{self.display_url}: refused with {status}: {message}; {hint}")
        return AgnosticsError(
            f"{self.display_url}: failed with {status} {attempts}: {message}; wait a while, and run it again"
        )


def _kind_of(status: int, message: str) -> type[UsageError]:
    if status not in _REFUSED_STATUSES:
        return UsageError
    return ContextExceeded if "context" in message.lower() else RequestRefused


def _message(error: APIError) -> str:
    """The message in the JSON body of the response, or else the whole body."""
    message = error.body.get("message") if isinstance(error.body, dict) else None
    return message if isinstance(message, str) else error.message


def _valid_url(url: str) -> str:
    try:
        parts = urlsplit(url)
        usable = parts.scheme in {"http", "https"} and parts.hostname and parts.port != 0
    except ValueError:
        usable = False
    if not usable or not url.isprintable():
        raise UsageError(f"endpoint {url!r}: not a URL; try http://localhost:8000/v1")
    return url


def _valid_key(key: str | None) -> str:
    key = (key or "").strip() or _NO_KEY
    if not key.isascii() or not key.isprintable():
        raise UsageError("the endpoint's key holds characters that no key can have; set it again")
    return key


def _one_line(text: str, key: str) -> str:
    """`text` on one line of at most 300 characters, with the key masked."""
    hidden = text.replace(key, "***") if key != _NO_KEY else text
    line = " ".join("".join(c if c.isprintable() else " " for c in hidden).split())
    return line if len(line) <= 300 else f"{line[:300]}…"
