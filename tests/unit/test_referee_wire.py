"""The frames between the client and the referee."""

from __future__ import annotations

import struct
from contextlib import suppress

import pytest
from agnostics.referee.wire import (
    MAX_FIELDS,
    MAX_REQUEST,
    WireError,
    decode_reply,
    decode_request,
    encode_reply,
    encode_request,
)
from hypothesis import given
from hypothesis import strategies as st


@given(st.lists(st.binary(max_size=50), min_size=2, max_size=MAX_FIELDS))
def test_a_request_is_read_as_it_was_written(fields: list[bytes]) -> None:
    frame = encode_request(fields)
    assert struct.unpack(">I", frame[:4]) == (len(frame) - 4,)
    assert decode_request(frame[4:]) == fields


@given(st.lists(st.binary(max_size=20), min_size=2, max_size=4), st.integers(min_value=1, max_value=100))
def test_a_request_that_was_cut_is_refused_or_has_fewer_fields(fields: list[bytes], cut: int) -> None:
    body = encode_request(fields)[4:]
    with suppress(WireError):
        read = decode_request(body[: max(0, len(body) - cut)])
        assert read == fields[: len(read)] != fields


@given(st.binary(max_size=200))
def test_bytes_that_are_no_request_are_refused(body: bytes) -> None:
    try:
        fields = decode_request(body)
    except WireError:
        return
    assert encode_request(fields)[4:] == body


def test_a_request_needs_a_key_and_an_operation_and_has_few_fields() -> None:
    for fields in ([], [b"key"], [b"x"] * (MAX_FIELDS + 1)):
        with pytest.raises(WireError):
            decode_request(encode_request(fields)[4:])


def test_a_request_that_is_too_large_is_not_sent() -> None:
    with pytest.raises(WireError, match="too large"):
        encode_request([b"x" * MAX_REQUEST])


def test_a_reply_is_read_as_it_was_written() -> None:
    assert decode_reply(encode_reply(1, "no: \N{BULLET} \udc80")) == (1, "no: \N{BULLET} \\udc80")
    for torn in (b"", b"\0\0\0\0", encode_reply(0, "text")[:-1]):
        with pytest.raises(WireError):
            decode_reply(torn)
