"""A model behind an OpenAI-compatible endpoint (vLLM's server, OpenAI's, and many others)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import urlsplit

from pydantic import BaseModel, Field, ValidationError

from agnostics.types.errors import AgnosticsError, MissingRequirement, UsageError

if TYPE_CHECKING:
    from openai import APIError, OpenAI

Message = Mapping[str, str]
"""What was said, as `{"role": "user", "content": …}`."""

_NO_KEY = "none"  # local servers want no key, but the client does
_CONNECT_S = 10.0
_MOST_STOPS = 4
_RETRIED = {408, 409, 429}
_THIS_REQUEST = {400, 413, 422}
_ADVICE = {
    400: "where the prompt is too long for the model, lower --context",
    401: "put the key that the server wants into the variable that --key-from names",
    403: "use a key that may use the model {model!r}",
    404: "check the URL, which often ends in /v1, and that it serves the model {model!r}",
    413: "lower --context",
    422: "check the name of the model, {model!r}",
}


@dataclass(frozen=True, slots=True)
class Reply:
    """What the model answered; not `whole` where it was cut off. Tokens are 0 where the server does not count them."""

    text: str
    prompt_tokens: int
    completion_tokens: int
    whole: bool = True


class _Said(BaseModel):
    content: str | None = None


class _Choice(BaseModel):
    message: _Said
    finish_reason: str | None = None

    @property
    def said(self) -> str:
        return self.message.content or ""


class _Continuation(BaseModel):
    text: str
    finish_reason: str | None = None

    @property
    def said(self) -> str:
        return self.text


class _Usage(BaseModel):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None


class _Completion(BaseModel):
    """The parts of a completion that are read: of a chat, or of a text that goes on."""

    choices: list[_Choice | _Continuation] = Field(min_length=1)
    usage: _Usage | None = None


class Refused(UsageError):
    """The server wants nothing of this request (400, 413, 422): another may be answered."""


class Endpoint:
    """The model called `model` at `url` (`https://host/v1`); a context manager.

    `timeout_s` is how long the server may be silent. What may pass (429, 5xx, a lost connection, silence) is tried
    `retries` times more, with growing pauses or those the server asks for.

    Raises UsageError for what is no URL or no key, MissingRequirement without the package `openai`.
    """

    def __init__(
        self, url: str, model: str, key: str | None = None, *, timeout_s: float = 600.0, retries: int = 5
    ) -> None:
        self.url, self.model = _checked(url), model
        self._key, self._timeout_s, self._retries = _checked_key(key), timeout_s, retries
        self._client = self._open()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self._client.close()

    def chat(self, messages: Sequence[Message], *, max_tokens: int, temperature: float | None = None) -> Reply:
        """The model's answer, of at most `max_tokens`; without a temperature, at that which the server prefers.

        Raises UsageError where the server refuses the request, AgnosticsError where it cannot be had or makes no sense.
        """
        from openai import APIError, BadRequestError

        options: dict[str, Any] = {} if temperature is None else {"temperature": temperature}
        try:
            try:
                content = self._send(messages, max_tokens=max_tokens, **options)
            except BadRequestError as error:
                if "max_completion_tokens" not in error.message:
                    raise
                content = self._send(messages, max_completion_tokens=max_tokens, **options)
        except APIError as error:
            raise self._explained(error) from error
        return self._read(content)

    def complete(self, prompt: str, *, stop: Sequence[str], max_tokens: int, temperature: float) -> Reply:
        """What goes on from `prompt`, up to the first of `stop` (some servers take four at most); see `chat`."""
        from openai import APIError

        send = self._client.completions.with_raw_response.create
        options: dict[str, Any] = {"stop": list(stop[:_MOST_STOPS])} if stop else {}
        try:
            answer = send(model=self.model, prompt=prompt, max_tokens=max_tokens, temperature=temperature, **options)
        except APIError as error:
            raise self._explained(error) from error
        return self._read(answer.http_response.content)

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
        said: Any = [dict(message) for message in messages]
        answer = self._client.chat.completions.with_raw_response.create(model=self.model, messages=said, **options)
        return answer.http_response.content

    def _read(self, content: bytes) -> Reply:
        try:
            completion = _Completion.model_validate_json(content)
        except ValidationError as error:
            start = _one_line(content[:4096].decode(errors="replace"), self._key)
            raise AgnosticsError(
                f"{self.shown}: the answer is no chat completion: {start!r}; is this an OpenAI-compatible API?"
            ) from error
        choice, usage = completion.choices[0], completion.usage or _Usage()
        whole = choice.finish_reason != "length"
        return Reply(choice.said, usage.prompt_tokens or 0, usage.completion_tokens or 0, whole)

    @property
    def shown(self) -> str:
        """The endpoint in messages: without a password."""
        parts = urlsplit(self.url)
        return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()

    def _explained(self, error: APIError) -> AgnosticsError:
        """What went wrong, what was tried and what to do next, on one line."""
        from openai import APIConnectionError, APIStatusError, APITimeoutError

        tries = f"after {self._retries + 1} {'try' if self._retries == 0 else 'tries'}"
        if isinstance(error, APITimeoutError):
            return AgnosticsError(
                f"{self.shown}: no answer within {self._timeout_s:g} s, {tries}; give it more time with --timeout"
            )
        if isinstance(error, APIConnectionError):
            cause = _one_line(str(error.__cause__ or error), self._key)
            return AgnosticsError(f"{self.shown}: no connection {tries} ({cause}); is the server running there?")
        said = _one_line(_message(error), self._key)
        status = error.status_code if isinstance(error, APIStatusError) else 0
        if 400 <= status < 500 and status not in _RETRIED:
            advice = _ADVICE.get(status, "correct the request").format(model=self.model)
            kind = Refused if status in _THIS_REQUEST else UsageError
            return kind(f"{self.shown}: refused with {status}: {said}; {advice}")
        return AgnosticsError(f"{self.shown}: failed with {status} {tries}: {said}; wait a while, and run it again")


def _message(error: APIError) -> str:
    """What the server said: the message in its JSON, or whatever it sent."""
    message = error.body.get("message") if isinstance(error.body, dict) else None
    return message if isinstance(message, str) else error.message


def _checked(url: str) -> str:
    try:
        parts = urlsplit(url)
        usable = parts.scheme in {"http", "https"} and parts.hostname and parts.port != 0
    except ValueError:
        usable = False
    if not usable or not url.isprintable():
        raise UsageError(f"endpoint {url!r}: not a URL; try http://localhost:8000/v1")
    return url


def _checked_key(key: str | None) -> str:
    key = (key or "").strip() or _NO_KEY
    if not key.isascii() or not key.isprintable():
        raise UsageError("the endpoint's key holds characters that no key has; set it again")
    return key


def _one_line(text: str, key: str) -> str:
    """`text` on one line of moderate length, the key hidden where the server repeats it."""
    hidden = text.replace(key, "***") if key != _NO_KEY else text
    line = " ".join("".join(c if c.isprintable() else " " for c in hidden).split())
    return line if len(line) <= 300 else f"{line[:300]}…"
