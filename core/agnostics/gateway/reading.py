"""What a request carries: its key, and its body within bounds."""

from __future__ import annotations

import hmac
import json

from starlette.datastructures import Headers
from starlette.requests import Request

from agnostics.gateway.api import ApiError, Json


def require_key(headers: Headers, key: str) -> None:
    """Raise ApiError unless the headers carry the key, as OpenAI's clients send it or as Anthropic's do."""
    scheme, _, bearer = headers.get("authorization", "").partition(" ")
    given = bearer if scheme.lower() == "bearer" else headers.get("x-api-key", "")
    if not hmac.compare_digest(given.strip().encode(), key.encode()):
        raise ApiError(401, "the key of the session is needed, as Authorization: Bearer KEY or as x-api-key: KEY")


async def read_json(request: Request, max_bytes: int) -> tuple[str, Json]:
    """The body as a text, and the JSON object in it. Raises ApiError; ClientDisconnect if it does not arrive whole."""
    if request.headers.get("content-encoding", "identity") != "identity":
        raise ApiError(415, "send the body without Content-Encoding")
    parts = list[bytes]()
    size = 0
    async for part in request.stream():
        size += len(part)
        if size > max_bytes:
            raise ApiError(413, f"the body has more than {max_bytes} bytes")
        parts.append(part)
    return _parsed(b"".join(parts))


def _parsed(data: bytes) -> tuple[str, Json]:
    try:
        text = data.decode()
        body = json.loads(text, parse_constant=_refuse)
        if "\\ud" in text.lower():  # an escape of half of a surrogate pair may be there, which no text can hold
            json.dumps(body, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as error:
        raise ApiError(400, f"the body is not JSON in UTF-8: {str(error)[:200]}") from error
    if not isinstance(body, dict):
        raise ApiError(400, "the body is not a JSON object")
    return text, body


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")
