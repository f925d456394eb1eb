"""The box: the sandbox of an agent session, with its client, the referee's socket, and the interpreter."""

from __future__ import annotations

import secrets
import shutil
import tempfile
from collections.abc import Sequence
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import Self

from agnostics.players.host_languages import make_host_root
from agnostics.referee.client_binary import client_path
from agnostics.referee.prompt import LIBRARY_FOLDER
from agnostics.referee.protocol import Protocol
from agnostics.referee.referee import Referee
from agnostics.referee.server import RefereeServer
from agnostics.sandbox.modes import AUTO, Backends
from agnostics.sandbox.owner import make_owned_folder, remove_leftover_folders
from agnostics.sandbox.session import Session
from agnostics.sandbox.session_pool import SessionPool
from agnostics.sandbox.slot_options import Mount, SlotOptions
from agnostics.types.errors import UsageError
from agnostics.types.language import Language
from agnostics.types.task import Limits

FOLDER = "/session"
"""The folder in the box with the socket `referee`, the file `key`, and `bin`, which stands first on PATH."""
LIMITS = Limits(run_s=600.0, memory_mb=2048, processes=256)
"""Those of a player's command, if no others are given."""


class Box:
    """The sandbox in which a player's commands run. A context manager: `session` is open within it.

    On PATH are the client (`session`) and what the language puts beside its programs, such as its interpreter, unless
    the protocol limits runs. Under a protocol with a library, the workspace holds the language's. `mounts` are an
    agent's own files, and `agent_language` is the language that it is written in. `folder` is the folder of this
    machine that the box shows as `FOLDER`: a socket that is made in it can be connected to. Commands may use TCP within
    the box, for `session forward`. `with_mcp` serves the referee as an MCP server too, at the socket `mcp`.

    Raises UsageError if the protocol forbids what the player or the language needs, MissingRequirement if the sandbox,
    the protocol's host language or the package `mcp` is not on this machine.
    """

    session: Session
    folder: Path
    key: str
    """What a request to the referee must carry, in the box the file `key`."""

    def __init__(
        self,
        referee: Referee,
        language: Language,
        protocol: Protocol,
        *,
        sandbox: str = AUTO,
        backends: Backends | None = None,
        limits: Limits = LIMITS,
        mounts: Sequence[Mount] = (),
        agent_language: str | None = None,
        with_mcp: bool = False,
    ) -> None:
        _require_allowed(protocol, language, mounts, agent_language)
        self._referee = referee
        self._language = language
        self._protocol = protocol
        self._sandbox = sandbox
        self._backends = backends
        self._limits = limits
        self._mounts = tuple(mounts)
        self._with_mcp = with_mcp
        self._held = ExitStack()

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            self.folder = _make_folder(stack)
            self._fill_bin()
            self.key = secrets.token_hex(16)
            (self.folder / "key").write_text(f"{self.key}\n", encoding="ascii")
            stack.enter_context(RefereeServer(self._referee, self.folder / "referee", self.key))
            if self._with_mcp:
                stack.enter_context(_mcp_service(self._referee, self.folder / "mcp", self.key))
            options = self._options()
            pool = SessionPool(self._language, self._sandbox, self._limits, 0, self._backends, options)
            self.session = stack.enter_context(stack.enter_context(pool).open())
            if self._protocol.library:
                self._put_library()
            self._held = stack.pop_all()
        return self

    def __exit__(self, *exception: object) -> None:
        self._held.close()

    def _put_library(self) -> None:
        files = self._language.library.items()
        self.session.put({f"{LIBRARY_FOLDER}/{name}": text.encode() for name, text in files})

    def _options(self) -> SlotOptions:
        root = make_host_root(self._protocol.host_language)
        return SlotOptions(
            mounts=(Mount(self.folder, FOLDER, private=True), *self._mounts),
            loopback=True,
            root=root,
            path=(f"{FOLDER}/bin",),
            file_tool=f"{FOLDER}/bin/session" if root else None,
        )

    def _fill_bin(self) -> None:
        """Copy the client and the language's own files: no lock on a copy reaches another slot."""
        folder = self.folder / "bin"
        folder.mkdir()
        shutil.copy(client_path(), folder / "session")
        for name, data in ({} if self._protocol.runs is not None else self._language.support_files()).items():
            (folder / name).write_bytes(data)
        for path in folder.iterdir():
            path.chmod(0o755)


def _mcp_service(referee: Referee, path: Path, key: str) -> AbstractContextManager[object]:
    from agnostics.referee.mcp import McpService

    return McpService(referee, path, key)


def _make_folder(stack: ExitStack) -> Path:
    """A folder below one that keeps the other users of this machine out."""
    remove_leftover_folders(Path(tempfile.gettempdir()))
    outer = make_owned_folder(Path(tempfile.gettempdir()))
    stack.callback(shutil.rmtree, outer, ignore_errors=True)
    folder = outer / "box"
    folder.mkdir()
    return folder


def _require_allowed(
    protocol: Protocol, language: Language, mounts: Sequence[Mount], agent_language: str | None
) -> None:
    tools = ", ".join(language.tools())
    if protocol.host_language != "any" and tools:
        raise UsageError(
            f"the protocol {protocol.name} leaves {tools} out of the box, which {language.name} needs; use a language "
            "whose interpreter comes with its pack, or a protocol with host_language: any"
        )
    if protocol.library and not language.library:
        raise UsageError(
            f"the protocol {protocol.name} puts a library into the workspace, but {language.name} has none; use a "
            "protocol without one, such as text"
        )
    if protocol.runs is not None and tools:
        raise UsageError(
            f"the protocol {protocol.name} limits runs, but {tools} of {language.name} is in every box; use a language "
            "whose interpreter comes with its pack"
        )
    if protocol.host_language != "any" and mounts and agent_language != protocol.host_language:
        raise UsageError(
            f"the protocol {protocol.name} allows the host language {protocol.host_language} alone, but the agent "
            f"needs {agent_language or 'one of its own'} in the box; use another agent, or a protocol with "
            "host_language: any"
        )
