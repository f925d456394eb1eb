"""The replies of `agn verify` are all written, or it ends with an error."""

from __future__ import annotations

import io
import json
from concurrent.futures import Future
from pathlib import Path
from threading import Thread
from typing import Any, TextIO

import pytest
from agnostics.types.errors import UsageError
from agnostics.types.verification import Verdict, Verification
from agnostics.verify_stream.format import Malformed
from agnostics.verify_stream.replies import ReplyWriter


def verification(verdict: Verdict) -> Verification:
    return Verification("", "lua", "print(1)", verdict, (), None, "bubblewrap", 1, 2.0)


def test_replies_in_flight_are_written_after_an_error_of_the_input() -> None:
    output, done = io.StringIO(), Future[Verification]()
    later = Thread(target=lambda: done.set_result(verification(Verdict.ACCEPTED)))

    def read_on() -> None:
        with ReplyWriter(output, 1) as replies:
            replies.reserve(10)
            done.add_done_callback(lambda done: replies.put((1, done), 10))
            later.start()
            raise UsageError("the disk is gone")

    with pytest.raises(UsageError, match="the disk is gone"):
        read_on()
    assert json.loads(output.getvalue())["verdict"] == "accepted"


def write_a_thousand(output: TextIO, request_id: Any) -> None:
    with ReplyWriter(output, 1) as replies:
        for _ in range(1000):
            replies.reserve(10)
            replies.put(Malformed(request_id, "x"), 10)


def test_an_error_of_the_output_ends_the_stream_and_does_not_block_it() -> None:
    with Path("/dev/null").open() as output, pytest.raises(OSError, match="not writable"):
        write_a_thousand(output, 1)


def test_a_reply_that_is_no_json_ends_the_stream_and_does_not_block_it() -> None:
    with pytest.raises(ValueError, match="JSON"):
        write_a_thousand(io.StringIO(), float("nan"))


def test_replies_are_counted_by_what_they_say() -> None:
    with ReplyWriter(io.StringIO(), 1) as replies:
        for verdict in (Verdict.ACCEPTED, Verdict.SANDBOX_ERROR, Verdict.SANDBOX_ERROR):
            done = Future[Verification]()
            done.set_result(verification(verdict))
            replies.reserve(1)
            replies.put((1, done), 1)
    assert (replies.written, replies.sandbox_errors, replies.all_valid) == (3, 2, True)
