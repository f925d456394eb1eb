"""Sessions, without a sandbox: what a harness replies."""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
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
