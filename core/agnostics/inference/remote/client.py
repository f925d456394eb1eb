"""vLLM in a process of its own: sampling takes nothing of the Python that trains, and may have a GPU to itself."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING, Any, Self

from agnostics.inference.engine import Answer, EngineSettings, Prompt, Sampling
from agnostics.inference.remote.messages import (
    Ask,
    Begin,
    Drop,
    Ended,
    Failed,
    Opening,
    Reply,
    Transfer,
    UseThreads,
    WorkerCall,
)
from agnostics.inference.vllm import configure
from agnostics.types.errors import AgnosticsError
from agnostics.util.subprocesses import exit_description

if TYPE_CHECKING:
    import torch

    from agnostics.inference.weight_transfer.sender import WeightSender

PATIENCE_S = 900.0
"""How long the engine may be silent."""
_TURN_S = 0.05
_EXIT_S = 10.0
_LAUNCHERS = {"RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"}
_PROGRAM = "agnostics.inference.remote.server"


class EngineProcess:
    """vLLM with one model loaded, in a process that ends with this one; an interrupt does not reach it.

    New weights travel by vLLM's own weight transfer.
    """

    def __init__(self, settings: EngineSettings) -> None:
        self.version = 0
        self._asked: set[int] = set()
        self._ended: list[tuple[int, Answer]] = []
        self._heard = time.monotonic()
        self._transfer, environment = _placed()
        self._sender: WeightSender | None = None
        ours, theirs = socket.socketpair()
        with theirs:
            command = [sys.executable, "-P", "-m", _PROGRAM, str(theirs.fileno())]
            self._process = subprocess.Popen(
                command,
                pass_fds=[theirs.fileno()],
                env={**_unlaunched(), **environment},
                stdin=subprocess.DEVNULL,
                stdout=sys.stderr.fileno(),
                start_new_session=True,
            )
        self._connection: Connection[Any, Any] = Connection(ours.detach())
        try:
            self._call(Opening(settings, self._transfer, os.getpid()))
        except BaseException:
            self.__exit__()
            raise

    @property
    def busy(self) -> bool:
        """See `Engine.busy`."""
        return bool(self._asked)

    def add(self, key: int, prompt: Prompt, sampling: Sampling) -> None:
        """See `Engine.add`."""
        if not self._asked:
            self._heard = time.monotonic()
        self._send(Ask(key, prompt, sampling))
        self._asked.add(key)

    def advance(self) -> list[tuple[int, Answer]]:
        """Answers that have ended, as `Engine.advance`; none where for a moment none ends."""
        if not self._ended and self._connection.poll(_TURN_S):
            self._hear()
        if time.monotonic() - self._heard > PATIENCE_S:
            raise AgnosticsError(f"the engine's process has said nothing for {PATIENCE_S:.0f} s")
        ended, self._ended = self._ended, []
        self._asked.difference_update(key for key, _ in ended)
        return ended

    def drop(self) -> None:
        """See `Engine.drop`."""
        self._asked.clear()
        self._call(Drop())
        self._ended.clear()

    def load_weights(self, weights: Iterable[tuple[str, torch.Tensor]], version: int) -> None:
        """See `Engine.load_weights`."""
        if self._sender is None:
            configure()
            from agnostics.inference.weight_transfer.sender import WeightSender

            self._sender = WeightSender(self._transfer, self._call_worker)
        self._sender.send(list(weights))
        self._call(Begin(version))
        self.version = version

    def use_threads(self, count: int) -> None:
        """See `Engine.use_threads`."""
        self._call(UseThreads(count))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self._connection.close()
        with self._process as process:
            with suppress(subprocess.TimeoutExpired):
                process.wait(_EXIT_S)
            process.kill()

    def _call_worker(self, name: str, arguments: dict[str, Any]) -> None:
        self._call(WorkerCall(name, arguments))

    def _call(self, what: object) -> None:
        """Have something done, and wait until it is. Raises AgnosticsError where it went wrong."""
        self._send(what)
        reply = None
        while reply is None:
            if not self._connection.poll(PATIENCE_S):
                raise AgnosticsError(f"the engine's process has said nothing for {PATIENCE_S:.0f} s")
            reply = self._hear()
        if reply.error:
            raise AgnosticsError(f"the engine's process: {reply.error}")

    def _send(self, what: object) -> None:
        try:
            self._connection.send(what)
        except ConnectionError as error:
            raise self._gone() from error

    def _hear(self) -> Reply | None:
        """Take in what the process says next. Raises AgnosticsError where sampling failed, or it is gone."""
        try:
            said = self._connection.recv()
        except (EOFError, ConnectionError) as error:
            raise self._gone() from error
        self._heard = time.monotonic()
        match said:
            case Ended(answers):
                self._ended += answers
            case Failed(reason):
                raise AgnosticsError(f"the engine's process: {reason}")
            case Reply():
                return said
        return None

    def _gone(self) -> AgnosticsError:
        return AgnosticsError(f"the engine's process {exit_description(self._process.wait(_EXIT_S))}")


def _unlaunched() -> dict[str, str]:
    """The environment, without what a launcher tells its ranks: an engine is none."""
    return {name: value for name, value in os.environ.items() if name not in _LAUNCHERS}


def _placed() -> tuple[Transfer, Mapping[str, str]]:
    """How weights will travel, and the environment that shows the engine its GPU.

    With twice as many GPUs as ranks on this machine the engines have the second half; else each is on its rank's.
    """
    import torch

    if not torch.cuda.is_available():
        return "gloo", {}
    rank, ranks = int(os.environ.get("LOCAL_RANK", "0")), int(os.environ.get("LOCAL_WORLD_SIZE", "1"))
    count = torch.cuda.device_count()
    named = os.environ.get("CUDA_VISIBLE_DEVICES", "")
    devices = named.split(",") if named else [str(number) for number in range(count)]
    own = rank + ranks if count >= 2 * ranks else rank
    return ("ipc" if own == rank else "nccl"), {"CUDA_VISIBLE_DEVICES": devices[own]}
