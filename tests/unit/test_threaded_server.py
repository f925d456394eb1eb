"""Servers on threads of their own: their start, its failure, and their end."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable

import pytest
from agnostics.types.errors import AgnosticsError
from agnostics.util import threaded_server
from agnostics.util.threaded_server import ThreadedServer


class Waiting(ThreadedServer):
    """Serves until it is stopped, and says then that it has ended; fails before it listens with `failure`."""

    thread_name = "test-server"

    def __init__(self, failure: Exception | None = None, *, listens: bool = True) -> None:
        super().__init__()
        self.failure, self.listens = failure, listens
        self.ended = False

    async def serve(self, ready: Callable[[], None]) -> None:
        if self.failure:
            raise self.failure
        if self.listens:
            ready()
        try:
            await asyncio.sleep(600)
        finally:
            self.ended = True


def test_a_server_serves_within_its_context_and_is_closed_twice_without_harm() -> None:
    with Waiting() as server:
        assert "test-server" in {thread.name for thread in threading.enumerate()}
        assert not server.ended
    assert server.ended
    assert "test-server" not in {thread.name for thread in threading.enumerate()}
    server.close()


def test_what_fails_before_a_server_listens_is_raised_where_it_is_started() -> None:
    with pytest.raises(OSError, match="taken"), Waiting(OSError("taken")):
        pass


def test_a_server_that_does_not_listen_in_time_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threaded_server, "START_S", 0.2)
    server = Waiting(listens=False)
    with pytest.raises(AgnosticsError, match="test-server did not start within 0 s"), server:
        pass
    server.close()
    assert server.ended
