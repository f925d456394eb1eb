"""What an isolation mode provides: slots, each a connection to a harness that runs inside its walls."""

from __future__ import annotations

import socket
from typing import Protocol

from agnostics.types.language import Language


class Slot(Protocol):
    """One warm harness behind its isolation, and the connection to it. Closing it leaves nothing behind."""

    @property
    def connection(self) -> socket.socket: ...

    @property
    def unenforced(self) -> tuple[str, ...]:
        """The limits (`memory`, `processes`, ...) that this slot cannot enforce exactly on this machine."""

    def set_limits(self, memory_mb: int, processes: int) -> None:
        """Set the memory (MiB) and process limits of what runs in the slot; called only when they change."""

    def close(self) -> None:
        """Kill everything in the slot and remove it. Safe to call twice."""


class Backend(Protocol):
    """An isolation mode. `start` may take a while (an image is built, a container created) and may be called from
    several threads at once.
    """

    @property
    def mode(self) -> str:
        """`docker`, `bubblewrap` or `process`."""

    def start(self, language: Language) -> Slot:
        """A new slot for programs of `language`. Raises MissingRequirement where it cannot be made here."""

    def close(self) -> None:
        """Remove whatever the mode keeps beside its slots. Safe to call twice."""
