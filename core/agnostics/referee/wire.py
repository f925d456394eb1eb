"""The frames between the client in the box and the referee's server; the client's side is `client/request.c`.

A request is its size and its fields, each of them its size and its bytes: the key, the operation, its arguments, and
`json` at the end for a reply in JSON. A reply is the exit status (one byte), a size and a text in UTF-8. Sizes are
four bytes, big-endian. A connection carries one request.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

from agnostics.types.errors import AgnosticsError

MAX_REQUEST = 4 << 20
"""The largest request, in bytes, without its size."""
MAX_FIELDS = 8
SIZE = struct.Struct(">I")
_REPLY = struct.Struct(">BI")


class WireError(AgnosticsError):
    """Bytes that are no request, or no reply."""


def encode_request(fields: Sequence[bytes]) -> bytes:
    """The frame of a request. Raises WireError if it is larger than the referee reads."""
    body = b"".join(SIZE.pack(len(field)) + field for field in fields)
    if len(body) > MAX_REQUEST:
        raise WireError(f"a request of {len(body)} bytes is too large; the referee reads {MAX_REQUEST}")
    return SIZE.pack(len(body)) + body


def decode_request(body: bytes) -> list[bytes]:
    """The fields of a request, without its size: at least a key and an operation. Raises WireError if it is none."""
    fields, at = list[bytes](), 0
    while at < len(body):
        start = at + SIZE.size
        if start > len(body) or len(fields) == MAX_FIELDS:
            raise WireError("the request is torn")
        at = start + SIZE.unpack_from(body, at)[0]
        fields.append(body[start:at])
    if at != len(body) or len(fields) < 2:
        raise WireError("the request is torn")
    return fields


def encode_reply(status: int, text: str) -> bytes:
    """The frame of a reply; what is no Unicode is escaped."""
    data = text.encode("utf-8", "backslashreplace")
    return _REPLY.pack(status, len(data)) + data


def decode_reply(frame: bytes) -> tuple[int, str]:
    """The exit status and the text of a reply. Raises WireError if it is torn."""
    if len(frame) < _REPLY.size:
        raise WireError("the reply is torn")
    status, size = _REPLY.unpack_from(frame)
    if len(frame) != _REPLY.size + size:
        raise WireError("the reply is torn")
    return status, frame[_REPLY.size :].decode()
