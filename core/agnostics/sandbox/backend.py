"""The contract of a sandbox backend: an isolation mode, and the slots in which it runs programs."""

from __future__ import annotations

import socket
from abc import ABC, abstractmethod
from typing import Protocol

from agnostics.sandbox.slot_options import SlotOptions
from agnostics.types.errors import UsageError
from agnostics.types.language import Language


class Slot(Protocol):
    """A warm harness in isolation, and the connection to it. Nothing of it is left after `close`."""

    @property
    def connection(self) -> socket.socket:
        """A stream socket to the harness, which has replied to `protocol.handshake`."""

    @property
    def unenforced(self) -> tuple[str, ...]:
        """The limits (`memory`, `processes`, ...) that this slot cannot enforce exactly on this machine."""

    def set_limits(self, memory_mb: int, processes: int) -> None:
        """Set the memory (MiB) and process limits of everything in the slot; called only when they change."""

    def close(self) -> None:
        """Kill everything in the slot and remove it. Safe to call twice."""


class SlotFactory(ABC):
    """A running sandbox backend: it starts slots until it is closed."""

    @abstractmethod
    def start(self, language: Language) -> Slot:
        """Start a slot for programs of `language`.

        It may take a while (an image is built, a container created), and several threads may call it at once. Raises
        MissingRequirement if such a slot can never start here, AgnosticsError if a retry may help.
        """

    def start_with(self, language: Language, options: SlotOptions) -> Slot:
        """Start a slot for a session that asks for more than programs have, if the backend has it. Raises as `start`,
        and UsageError for what it does not have.
        """
        if options == SlotOptions():
            return self.start(language)
        raise UsageError("this sandbox has no mounts and no root of its own for sessions; use docker or bubblewrap")

    def close(self) -> None:  # noqa: B027 (most backends hold nothing)
        """Release what the backend holds besides its slots, if anything. Safe to call twice."""


class SandboxBackend(ABC):
    """An isolation mode, registered through `agn_sandboxes` and chosen by its name (`--sandbox NAME`).

    An instance is a description only: it holds no resources, can be pickled, and its module imports no heavy packages.
    """

    name: str
    description: str
    """The means of isolation, as a phrase for `agn doctor`."""
    priority: int | None = None
    """The order in which `--sandbox auto` tries backends, the highest first; None if it must be asked for by name."""
    uses_host_toolchains: bool = True
    """True if programs use the compilers and interpreters of this machine."""

    def with_runtime(self, runtime: str) -> SandboxBackend:
        """This backend with another runtime below it (`--sandbox NAME:RUNTIME`). Raises UsageError if it has none."""
        raise UsageError(f"the sandbox {self.name} has no runtime to choose, so {self.name}:{runtime} means nothing")

    @abstractmethod
    def check(self) -> str:
        """Check that the backend works on this machine, and return its version or the like.

        Raises MissingRequirement, whose message names the command that mends it, if it does not.
        """

    @abstractmethod
    def open(self) -> SlotFactory:
        """Start the backend. Raises MissingRequirement if it does not work here."""
