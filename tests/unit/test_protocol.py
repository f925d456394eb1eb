"""The frames of jobs, without a harness."""

from __future__ import annotations

import struct
from dataclasses import replace

import pytest
from agnostics.sandbox.protocol import MAX_FRAME, Job, ResultReader, decode, encode, set_data_limit, with_one_test
from agnostics.types.errors import AgnosticsError

JOB = Job(
    files={"program": b"text"},
    compile=None,
    execute=["/bin/true"],
    environment={"A": "1"},
    tests=[(b"1", b"")],
    run_s=1,
    compile_s=1,
    memory_mb=256,
    compile_mb=256,
    processes=8,
    output_bytes=1000,
)


def framed(body: bytes, flags: int = 0) -> bytes:
    return struct.pack("<I", len(body) | flags) + body


def test_a_nul_in_an_argument_is_refused_before_it_is_sent() -> None:
    with pytest.raises(AgnosticsError, match="NUL"):
        encode(replace(JOB, execute=["/bin/true", "a\0b"]))


def test_a_frame_that_no_harness_would_take_is_refused_before_it_is_sent() -> None:
    with pytest.raises(AgnosticsError, match="at most"):
        encode(replace(JOB, tests=[(b" " * MAX_FRAME, b"")]))


def test_the_data_limit_changes_nothing_else_in_the_frame() -> None:
    frame = encode(JOB)
    set_data_limit(frame, 512)
    assert frame != encode(JOB)
    set_data_limit(frame, 0)
    assert frame == encode(JOB)


def test_results_are_returned_once_they_are_complete() -> None:
    results = ResultReader()
    assert results.feed(framed(b"one") + framed(b"") + framed(b"three")[:-1]) == [b"one", b""]
    assert results.feed(b"e") == [b"three"]
    assert results.feed(b"") == []


def test_a_result_in_parts_is_one_unless_they_are_void() -> None:
    part, void = 1 << 31, 1 << 30
    results = ResultReader()
    assert results.feed(framed(b"a ", part) + framed(b"b ", part)) == []
    assert results.feed(framed(b"c") + framed(b"d", part) + framed(b"error", void)) == [b"a b c", b"error"]


def test_a_result_that_ends_too_soon_is_an_error() -> None:
    with pytest.raises(IndexError):
        decode(struct.pack("<I", 0) + b"\1")


def test_a_frame_with_one_test_keeps_the_rest_of_its_job() -> None:
    job = replace(JOB, tests=[(b"1", b"2"), (b"3", b"4")], hold_at="a", hold_execute=["b", "c"], hold_files={"d": b"e"})
    assert with_one_test(encode(job), 1) == encode(replace(job, tests=job.tests[1:]))
