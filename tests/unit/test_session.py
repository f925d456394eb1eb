"""Sessions, without a sandbox: what a harness replies."""

from __future__ import annotations

import socket
import struct
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import pytest
from agnostics.sandbox.protocol import encode_interrupt
from agnostics.sandbox.session import Session, SessionError
from agnostics.types.task import Limits


@dataclass
class SocketSlot:
    """A slot whose harness is the other end of a pair of sockets."""

    connection: socket.socket
    unenforced: tuple[str, ...] = ()

    def set_limits(self, memory_mb: int, processes: int) -> None: ...

    def close(self) -> None:
        self.connection.close()


@pytest.fixture
def pair() -> Iterator[tuple[Session, socket.socket]]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield Session(SocketSlot(ours), Limits(), lambda _: None), theirs


NO_ERROR = struct.pack("<I", 0)


@pytest.mark.parametrize("body", [b"", b"\xff", NO_ERROR, NO_ERROR + b"\1" + b"\xff" * 500])
def test_a_reply_that_is_no_result_fails_the_session_alone(pair: tuple[Session, socket.socket], body: bytes) -> None:
    session, harness = pair
    harness.sendall(struct.pack("<I", len(body)) + body)
    with pytest.raises(SessionError, match="has no result"):
        session.exec(["true"])
    with pytest.raises(SessionError, match="session has ended"):
        session.exec(["true"])


REPLY = b"\0\0\0\0\0\1\0\0\0" + struct.pack("<BBii3QIIBI", 8, 0, 0, -1, 0, 0, 0, 0, 0, 0, 0)
"""No error, nothing compiled, one test, which was accepted with no output."""


def received(harness: socket.socket, size: int) -> bytes:
    """The next bytes that the session has sent."""
    return harness.recv(size, socket.MSG_WAITALL)


def test_an_interrupt_is_sent_once_and_only_between_a_command_and_its_result(
    pair: tuple[Session, socket.socket],
) -> None:
    session, harness = pair
    interrupt = bytes(encode_interrupt())
    session.interrupt()
    with ThreadPoolExecutor(1) as thread:
        for _ in range(2):
            running = thread.submit(session.exec, ["cat"], stdin=bytes(10 << 20))  # more than the socket holds
            (size,) = struct.unpack("<I", received(harness, 4))
            assert size > 10 << 20, "something else came before the command"
            with ThreadPoolExecutor(1) as other:
                interrupted = other.submit(session.interrupt)
                time.sleep(0.05)
                received(harness, size)
                interrupted.result(timeout=10)
            session.interrupt()
            assert received(harness, len(interrupt)) == interrupt
            harness.sendall(struct.pack("<I", len(REPLY)) + REPLY)
            running.result(timeout=10)
            session.interrupt()
    harness.setblocking(False)
    with pytest.raises(BlockingIOError):
        harness.recv(1)


def test_an_interrupt_of_a_session_that_has_ended_does_nothing(pair: tuple[Session, socket.socket]) -> None:
    session, harness = pair
    with ThreadPoolExecutor(1) as thread:
        running = thread.submit(session.exec, ["true"])
        received(harness, 4)
        session.close()
        session.interrupt()
        with pytest.raises(SessionError, match="closed"):
            running.result(timeout=10)
    session.interrupt()
