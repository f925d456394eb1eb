"""The referee's server: a Unix socket in the folder that the box of a session shows, in a thread of its own.

Whoever has the folder may connect; a request counts if it has the session's key. Everything is bounded: connections at
once, the size of a request and the time that it takes, and by a pause after each their rate. So a flood takes nothing
but the connections of its own session.
"""

from __future__ import annotations

import asyncio
import hmac
import logging
import socket
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

from agnostics.referee.operations import as_json, perform
from agnostics.referee.referee import Referee
from agnostics.referee.refusals import PAUSE_S, Refusals
from agnostics.referee.replies import EXIT_STATUS, Reply
from agnostics.referee.wire import MAX_REQUEST, SIZE, WireError, decode_request, encode_reply
from agnostics.util.threaded_server import ThreadedServer

log = logging.getLogger("agnostics")

CONNECTIONS = 16
"""The connections that are served at once; as many wait in the kernel, and others are not made."""
REQUEST_S = 30.0
"""The time in which a request must come, and its reply be read."""
OPERATION_PAUSE_S = 0.01
"""The time after an operation until the next one of its session."""


class RefereeServer(ThreadedServer):
    """Serves `referee` at the socket `path` to those who have `key`. A context manager."""

    thread_name = "agnostics-referee-server"

    def __init__(self, referee: Referee, path: Path, key: str) -> None:
        super().__init__()
        self._referee = referee
        self._path = path
        self._key = key.encode()
        self._refusals = Refusals(referee)
        self._connections = asyncio.Semaphore(CONNECTIONS)
        self._turn = asyncio.Lock()
        self._worker = ThreadPoolExecutor(1, thread_name_prefix="agnostics-referee")

    def close(self) -> None:
        """Stop to serve; an operation that is being carried out is finished. Safe to call twice."""
        super().close()
        self._worker.shutdown(cancel_futures=True)

    async def serve(self, ready: Callable[[], None]) -> None:
        """See `ThreadedServer.serve`."""
        self._loop = asyncio.get_running_loop()
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(str(self._path))
            self._path.chmod(0o666)  # the folder keeps other users out
            listener.listen(CONNECTIONS)
            listener.setblocking(False)
            async with asyncio.TaskGroup() as tasks:
                ready()
                while True:
                    await self._await_room()
                    connection, _ = await self._loop.sock_accept(listener)
                    tasks.create_task(self._answer(connection))

    async def _await_room(self) -> None:
        """Wait until a connection may be taken; the kernel keeps those that come meanwhile."""
        if self._connections.locked():
            await self._refuse("connect", "too_many_connections", "too many connections at once")
        await self._connections.acquire()

    async def _answer(self, connection: socket.socket) -> None:
        """Serve one connection; one that fails costs nobody else anything."""
        with connection, suppress(OSError, TimeoutError):
            try:
                connection.setblocking(False)
                reply = await self._reply(connection)
                async with asyncio.timeout(REQUEST_S):
                    await self._loop.sock_sendall(connection, reply)
            finally:
                self._connections.release()

    async def _reply(self, connection: socket.socket) -> bytes:
        """The reply to the request of a connection."""
        try:
            async with asyncio.timeout(REQUEST_S):
                key, operation, *arguments = decode_request(await self._receive(connection))
        except (WireError, OSError, TimeoutError) as error:
            reply = await self._refuse("request", "malformed", str(error) or "the request did not come in time")
            return encode_reply(EXIT_STATUS[reply.status], reply.text)
        if not hmac.compare_digest(key, self._key):
            reply = await self._refuse("request", "wrong_key", "this is not the key of the session")
            return encode_reply(EXIT_STATUS[reply.status], reply.text)
        json = arguments[-1:] == [b"json"] and arguments.pop() == b"json"
        reply = await self._perform(_text(operation), [_text(argument) for argument in arguments])
        return encode_reply(EXIT_STATUS[reply.status], as_json(reply) if json else reply.text)

    async def _receive(self, connection: socket.socket) -> bytes:
        """The body of a request. Raises WireError if it ends too soon or is too large."""
        size: int = SIZE.unpack(await self._exactly(connection, SIZE.size))[0]
        if size > MAX_REQUEST:
            raise WireError(f"a request of {size} bytes is too large; the referee reads {MAX_REQUEST}")
        return await self._exactly(connection, size)

    async def _exactly(self, connection: socket.socket, size: int) -> bytes:
        data = bytearray()
        while len(data) < size:
            more = await self._loop.sock_recv(connection, min(size - len(data), 1 << 16))
            if not more:
                raise WireError("the request is torn")
            data += more
        return bytes(data)

    async def _perform(self, operation: str, arguments: list[str]) -> Reply:
        """Carry out an operation; those of a session have one turn after the other."""
        async with self._turn:
            try:
                reply = await self._loop.run_in_executor(self._worker, perform, self._referee, operation, arguments)
            except Exception:
                log.exception("the referee could not carry out %s", operation[:80])
                return Reply("error", "the referee cannot carry this out now; it is a fault of the machine, not yours")
            await asyncio.sleep(PAUSE_S if reply.status == "refused" else OPERATION_PAUSE_S)
            return reply

    async def _refuse(self, operation: str, reason: str, text: str) -> Reply:
        """Refuse what is no operation of the session."""
        reply = await self._loop.run_in_executor(self._worker, self._refusals.refuse, operation, reason, text)
        await asyncio.sleep(PAUSE_S)
        return reply


def _text(data: bytes) -> str:
    """A text of the player's; surrogate escapes stand for bytes outside UTF-8."""
    return data.decode("utf-8", "surrogateescape")
