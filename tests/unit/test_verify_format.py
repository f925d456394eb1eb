"""Each line of `agn verify` is a request or one error, whatever is on it."""

from __future__ import annotations

import io
import json
import time
from pathlib import Path
from typing import Any

import pytest
from agnostics.types.errors import UsageError
from agnostics.verify_stream import format as verify_format
from agnostics.verify_stream.format import Malformed, VerifyRequest, malformed_line, read_requests

GOOD: dict[str, Any] = {"id": 7, "language": "lua", "program": "print(1)", "tests": [{"input": "", "output": "1"}]}


def read(*lines: bytes) -> list[VerifyRequest | Malformed]:
    return [request for request, _ in read_requests(io.BytesIO(b"".join(line + b"\n" for line in lines)))]


def line_with_id(text: str) -> bytes:
    return json.dumps(GOOD).replace('"id": 7', f'"id": {text}').encode()


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"[" * 100_000, "nested too deeply"),
        (b"[" * 100_000 + b"]" * 100_000, "nested too deeply"),
        (b'{"a":' * 100_000, "nested too deeply"),
        (line_with_id("[" * 100_000 + "]" * 100_000), "nested too deeply"),
        (line_with_id("9" * 5000), "not JSON: Exceeds the limit"),
        (b"\xff\xfe\x00", "not JSON"),
        (b"\0", "not JSON"),
    ],
)
def test_a_line_that_cannot_be_read_is_one_error_and_the_next_is_read(line: bytes, reason: str) -> None:
    malformed, request = read(line, json.dumps(GOOD).encode())
    assert isinstance(malformed, Malformed)
    assert (malformed.id, reason in malformed.error) == (None, True)
    assert isinstance(request, VerifyRequest)


def test_a_text_of_megabytes_in_place_of_a_key_is_a_short_error_at_once() -> None:
    begun = time.process_time()
    (malformed,) = read(json.dumps({**GOOD, "x" * 20_000_000: 1}).encode())
    assert isinstance(malformed, Malformed)
    assert len(malformed.error) < 300
    assert time.process_time() - begun < 1


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999", '{"a": [1, NaN]}'])
@pytest.mark.parametrize("change", [{}, {"tests": []}])
def test_an_id_that_no_reply_can_carry_is_refused(number: str, change: dict[str, Any]) -> None:
    line = json.dumps({**GOOD, **change}).replace('"id": 7', f'"id": {number}')
    assert read(line.encode()) == [Malformed(None, "id: NaN and infinite numbers are no JSON values")]


def test_every_depth_of_an_id_that_can_be_read_can_be_written() -> None:
    requests = read(*(line_with_id("[" * depth + "]" * depth) for depth in range(900, 1010)))
    assert {isinstance(request, VerifyRequest) for request in requests} == {True, False}
    for request in requests:
        json.dumps(malformed_line(Malformed(request.id, "")), allow_nan=False)


def test_the_size_of_a_request_is_that_of_its_line() -> None:
    line = json.dumps(GOOD).encode() + b"\n"
    assert [size for _, size in read_requests(io.BytesIO(line + b"\n \n" + line[:-1]))] == [len(line), len(line) - 1]


@pytest.mark.parametrize("excess", [1, 2, 50, 10_000])
def test_a_line_that_is_too_long_is_one_error_and_the_next_is_read(
    monkeypatch: pytest.MonkeyPatch, excess: int
) -> None:
    good = json.dumps(GOOD).encode()
    monkeypatch.setattr(verify_format, "MAX_LINE_BYTES", len(good) + 1)
    monkeypatch.setattr(verify_format, "_PART", 64)
    long = good + b" " * (1 + excess)
    first, malformed, last = read(good, long[:-1], good)
    assert isinstance(first, VerifyRequest)
    assert malformed == Malformed(None, f"the line is longer than {len(good) + 1} bytes")
    assert isinstance(last, VerifyRequest)


def test_a_file_that_cannot_be_read_further_is_an_error_of_the_whole() -> None:
    with Path("/proc/self/mem").open("rb") as memory, pytest.raises(UsageError, match="/proc/self/mem: cannot be read"):
        next(read_requests(memory))
