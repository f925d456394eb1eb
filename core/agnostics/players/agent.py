"""Coding agents as players: they run unchanged in the box, and reach their model through the gateway alone."""

from __future__ import annotations

import logging
import shlex
import time
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Annotated, ClassVar

from pydantic import Field

from agnostics.gateway.limits import GatewayLimits
from agnostics.players.agent_package import AgentPackage
from agnostics.players.box import FOLDER
from agnostics.players.model_player import ModelPlayer
from agnostics.players.player import Game
from agnostics.players.session_calls import SessionCalls
from agnostics.sandbox.protocol import RunResult
from agnostics.sandbox.session import Session
from agnostics.sandbox.slot_options import Mount
from agnostics.types.errors import AgnosticsError, MissingRequirement
from agnostics.types.verification import Verdict

log = logging.getLogger("agnostics")

_WORKSPACE = "/w"
HOME = f"{_WORKSPACE}/.home"
"""The agent's home in the box: in the workspace, so that what it remembers outlives an interruption."""
_PORT = 8000
_SOCKET = "gateway"
_NOT_FOUND = 127
_PROFILE = f"PATH={FOLDER}/bin:$PATH\n"
"""For login shells, which forget the PATH that they are started with."""
_OUTPUT_BYTES = 16 << 20
"""What an agent may print; one that prints more is ended."""
_BEGIN = "Read {file} and follow it: work through all problems of the session now, until `session status` says that "
_END = "every one is final. Nobody can answer questions."
_AGAIN = "The session is not finished; it goes on where it stands. "


@dataclass(frozen=True, slots=True, kw_only=True)
class Invocation:
    """What an agent is given at a start: its task, and its model."""

    message: str
    """What to do, on one line; the rules are in the agent's prompt file."""
    prompt: str
    """The rules, for an agent that reads no such file."""
    url: str
    """The gateway's address in the box, without /v1."""
    key: str
    model: str
    output_tokens: int
    """The most tokens of one reply."""
    context_tokens: int
    """The longest conversation that the model takes, with its reply."""
    filename: str
    """What a program of the language is called."""


@dataclass(frozen=True, slots=True)
class AgentCommand:
    """A command in the box, its environment, and files for the workspace, by their paths in it."""

    argv: Sequence[str]
    environment: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)


@dataclass
class Agent(ModelPlayer):
    """A coding agent of PyPI or npm. One that ends before the session does is started again if it made progress."""

    time_s: Annotated[float, Field(gt=0, le=1_000_000)] = 14_400.0
    """Seconds of a start; then all its processes are ended."""
    starts: Annotated[int, Field(ge=1)] = 100
    """The most starts of one `play`."""

    package: ClassVar[AgentPackage]
    prompt_file: ClassVar[str] = "AGENTS.md"
    """The file of the workspace in which the agent looks for instructions."""

    @abstractmethod
    def command(self, invocation: Invocation) -> AgentCommand:
        """How the agent is started, without a terminal and without anybody to ask."""

    def check_requirements(self) -> None:
        """See `ModelPlayer.check_requirements`; raise MissingRequirement too if the agent is not installed."""
        super().check_requirements()
        for package in ("starlette", "uvicorn"):
            if find_spec(package) is None:
                raise MissingRequirement(f"{package} is not installed; run: pip install 'agnostics[serve]'")
        if not self.is_installed:
            raise MissingRequirement(f"{self.name} is not installed; run: agn session players install {self.name}")

    @property
    def agent_language(self) -> str | None:
        """See `Player.agent_language`."""
        return self.package.language

    @property
    def is_installed(self) -> bool:
        """Whether its package is on this machine."""
        return self.package.is_installed

    def install(self) -> None:
        """Install the agent. Raises AgnosticsError if that fails."""
        self.package.install()

    def mounts(self) -> Sequence[Mount]:
        """See `Player.mounts`."""
        return self.package.mounts()

    def play(self, game: Game) -> None:
        """See `Player.play`."""
        from agnostics.gateway.server import Gateway, listen_on_unix_socket

        assert game.folder is not None
        tokens = game.referee.state.protocol.output_tokens
        limits = GatewayLimits() if tokens is None else GatewayLimits(output_tokens=tokens)
        calls = SessionCalls(game.store, game.referee.name)
        path = game.folder / _SOCKET
        path.unlink(missing_ok=True)
        with self.backend(game) as backend, Gateway(backend, calls, listen_on_unix_socket(path), limits) as gateway:
            held = min(self.context_tokens, backend.context_tokens or self.context_tokens)
            self._play(game, gateway.key, limits.output_tokens, held)

    def _play(self, game: Game, key: str, output_tokens: int, context_tokens: int) -> None:
        """Start the agent, and again while it gets on."""
        assert game.box is not None
        for _ in range(self.starts):
            before = game.referee.state.operations
            message = (_AGAIN if before else "") + _BEGIN.format(file=self.prompt_file) + _END
            invocation = Invocation(
                message=message,
                prompt=game.prompt,
                url=f"http://127.0.0.1:{_PORT}",
                key=key,
                model=self.model,
                output_tokens=output_tokens,
                context_tokens=context_tokens,
                filename=game.language.filename,
            )
            command = self.command(invocation)
            game.box.put(_files(self.prompt_file, game.prompt, command.files))
            self._run(game.box, command)
            game.save_workspace()
            if game.referee.state.all_done or game.referee.state.operations == before:
                return

    def _run(self, box: Session, command: AgentCommand) -> None:
        forward = ["session", "forward", str(_PORT), f"{FOLDER}/{_SOCKET}", "--"]
        began = time.monotonic()
        result = box.exec(
            [*forward, *command.argv],
            environment={"HOME": HOME, "PWD": _WORKSPACE, **command.environment},
            run_s=self.time_s,
            output_bytes=_OUTPUT_BYTES,
        )
        if result.exit_code == _NOT_FOUND:
            raise AgnosticsError(
                f"{self.name} cannot be started in the box: {_ending(result)}; in docker the image of the "
                "language has to have what it needs, such as a shell: try --sandbox bubblewrap"
            )
        if result.verdict is not Verdict.ACCEPTED:
            log.warning("%s ended after %.0f s: %s", self.name, time.monotonic() - began, _ending(result))


def _files(prompt_file: str, prompt: str, others: Mapping[str, str]) -> dict[str, bytes]:
    texts = {prompt_file: prompt, ".home/.profile": _PROFILE, **others}
    return {name: text.encode() for name, text in texts.items()}


def _ending(result: RunResult) -> str:
    """How it ended, with the last line of what it printed."""
    lines = (result.stderr + b"\n" + result.stdout).decode(errors="replace").strip().splitlines()
    how = f"exit status {result.exit_code}" if result.exit_code else str(result.verdict)
    return f"{how}: {shlex.quote(lines[-1][:300])}" if lines else how
