"""User ids for slots: one that no other slot of this machine has, since the kernel counts processes by user."""

from __future__ import annotations

import errno
import pwd
import random
import socket
from contextlib import suppress
from typing import Self

from agnostics.types.errors import AgnosticsError

FIRST, LAST = 30_000, 60_000
HOLDER = FIRST - 1
"""The user of the interpreters that fork servers hold (harness/fork_server.c), which programs cannot reach."""


class SlotUser:
    """A user id that is this slot's until `close`, or until this process ends. A context manager.

    A socket with the id in its name, which the kernel removes with its process, keeps other processes from it. Raises
    AgnosticsError if every id is taken.
    """

    def __init__(self) -> None:
        self._claim = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        first = random.SystemRandom().randrange(FIRST, LAST)
        for uid in (*range(first, LAST), *range(FIRST, first)):
            if not _is_account(uid) and self._claimed(uid):
                self.uid = uid
                return
        self._claim.close()
        raise AgnosticsError(f"each user id from {FIRST} to {LAST} is taken by an account or by another slot")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Give the id back. Safe to call twice."""
        self._claim.close()

    def _claimed(self, uid: int) -> bool:
        try:
            self._claim.bind(f"\0agnostics-slot-user-{uid}")
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise
            return False
        return True


def _is_account(uid: int) -> bool:
    """Whether the id is that of somebody on this machine."""
    with suppress(KeyError):
        pwd.getpwuid(uid)
        return True
    return False
