"""The workspace of a box on disk: stored between commands and at submissions, and restored into the next box.

While a command of the player runs, which may be for hours, nobody but the client in the box can read the files: it
hands them over at each submission (`client/keep.c`). What it hands over is the player's own, as the files are.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from agnostics.players.box import Box
from agnostics.sandbox.session import TRANSFER_BYTES, Session, SessionError
from agnostics.types.errors import AgnosticsError
from agnostics.util.files import atomic_write
from agnostics.util.threaded_server import ThreadedServer

log = logging.getLogger("agnostics")

_WHOLE = b"whole"
"""What follows an archive that is complete."""
_RECEIVE_S = 30.0
_REST = 4
"""The time until the next archive is taken, by the time that this one took: a box that sends many costs little."""


@contextmanager
def keep_workspace(box: Box | None, path: Path) -> Iterator[Callable[[], None]]:
    """Fill the box with the files in the archive `path`, if there is one, and keep the archive up to date meanwhile.

    Yields a function that stores the files at once, for between two commands.
    """
    if box is None:
        yield lambda: None
        return
    if path.exists():
        _restore(box.session, path)
    with WorkspaceServer(box.folder / "workspace", box.key, path):
        yield lambda: _save(box.session, path)


def _restore(session: Session, path: Path) -> None:
    try:
        session.restore(path.read_bytes())
    except SessionError:
        raise
    except AgnosticsError as error:  # the player can make it so, and it is the player's loss
        log.warning("the session goes on without the files of its workspace: %s", error)


def _save(session: Session, path: Path) -> None:
    try:
        snapshot = session.snapshot()
    except SessionError:
        raise
    except AgnosticsError as error:  # too large, or not readable: the player's own doing, and its own loss
        log.warning("the workspace is not kept for a resumed session: %s", error)
        return
    _write(snapshot, path)


def _write(archive: bytes | bytearray, path: Path) -> None:
    with atomic_write(path) as file:
        file.write(archive)


class WorkspaceServer(ThreadedServer):
    """Stores at `path` each archive that comes, with `key` before it, to the socket `listening`; one at a time."""

    thread_name = "agnostics-workspace"

    def __init__(self, listening: Path, key: str, path: Path) -> None:
        super().__init__()
        self._listening = listening
        self._key = key.encode()
        self._path = path

    async def serve(self, ready: Callable[[], None]) -> None:
        """See `ThreadedServer.serve`."""
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(str(self._listening))
            self._listening.chmod(0o666)  # the folder keeps other users out
            listener.listen(1)
            listener.setblocking(False)
            ready()
            while True:
                connection, _ = await asyncio.get_running_loop().sock_accept(listener)
                began = time.monotonic()
                with connection, suppress(OSError, TimeoutError):
                    connection.setblocking(False)
                    async with asyncio.timeout(_RECEIVE_S):
                        self._store(await self._receive(connection))
                await asyncio.sleep(_REST * (time.monotonic() - began))

    async def _receive(self, connection: socket.socket) -> bytearray:
        """What comes, up to a little more than the largest archive."""
        loop, data = asyncio.get_running_loop(), bytearray()
        while len(data) <= TRANSFER_BYTES + len(self._key) + len(_WHOLE):
            more = await loop.sock_recv(connection, 1 << 18)
            if not more:
                break
            data += more
        return data

    def _store(self, data: bytearray) -> None:
        archive = data.removeprefix(self._key).removesuffix(_WHOLE)
        if len(archive) != len(data) - len(self._key) - len(_WHOLE) or len(archive) > TRANSFER_BYTES:
            return
        try:
            _write(archive, self._path)
        except AgnosticsError as error:  # a later submission may find room
            log.warning("the workspace is not kept for a resumed session: %s", error)
