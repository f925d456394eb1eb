"""vLLM in a process of its own: sampling shares no interpreter lock with training, and may have its own GPU."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Sequence
from functools import cached_property
from multiprocessing.connection import wait
from typing import TYPE_CHECKING, Any, Self

from agnostics.inference.engine import Completion, CompletionRequest, EngineSettings, SamplingParams
from agnostics.inference.remote.messages import (
    AbortAll,
    AddRequest,
    CallResult,
    FinishedRequests,
    LoadAdapter,
    ResumeSampling,
    SamplingFailed,
    SetNumThreads,
    StartEngine,
    WorkerCall,
)
from agnostics.inference.remote.placement import EnginePlacement
from agnostics.inference.served_adapter import serialized
from agnostics.inference.vllm import configure
from agnostics.inference.weight_transfer.checkpoint_names import CheckpointNames
from agnostics.types.errors import AgnosticsError
from agnostics.util.child_process import ChildProcess
from agnostics.util.imports import without_garbage_collection

if TYPE_CHECKING:
    import torch

    from agnostics.inference.weight_transfer.sender import WeightSender

RESPONSE_TIMEOUT_S = 900.0
"""The longest silence of the engine's process."""
_POLL_S = 0.05
"""The longest wait of a step without completions."""
_LAUNCHER_VARIABLES = {"RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"}
_SERVER = "agnostics.inference.remote.server"


class RemoteEngine:
    """vLLM with one model loaded, in a process that ends with this one; an interrupt does not reach it.

    New weights travel through vLLM's own weight transfer. It loads its model while this process goes on: the first call
    must be `wait_until_loaded`.
    """

    def __init__(self, settings: EngineSettings, placement: EnginePlacement) -> None:
        self.version = 0
        self._folder, self._workers = settings.folder, settings.tensor_parallel_size
        self._serves_adapter = settings.adapter is not None
        self._unfinished: set[int] = set()
        self._finished: list[tuple[int, Completion]] = []
        self._last_message_s = time.monotonic()
        self.transfer = placement.transfer
        self._sender: WeightSender | None = None
        self._is_loaded = False
        environment = {**_without_launcher(), **placement.environment}
        self._process = ChildProcess(_SERVER, "the engine's process", environment)
        self._connection = self._process.connection
        self._send(StartEngine(settings, self.transfer))

    def wait_until_loaded(self) -> None:
        """Wait until the model is loaded. Raises AgnosticsError if that fails."""
        self._wait_for_result()
        self._is_loaded = True

    @property
    def num_unfinished_requests(self) -> int:
        """The number of requests that are not finished yet."""
        return len(self._unfinished)

    @property
    def has_unfinished_requests(self) -> bool:
        """See `Engine.has_unfinished_requests`."""
        return bool(self._unfinished)

    def add_request(self, request_id: int, request: CompletionRequest, params: SamplingParams) -> None:
        """See `Engine.add_request`."""
        if not self._unfinished:
            self._last_message_s = time.monotonic()
        self._send(AddRequest(request_id, request, params))
        self._unfinished.add(request_id)

    def step(self, timeout_s: float = _POLL_S) -> list[tuple[int, Completion]]:
        """The completions that have finished, as `Engine.step`; after a short wait maybe none."""
        if not self._finished and self._connection.poll(timeout_s):
            self._receive()
        if time.monotonic() - self._last_message_s > RESPONSE_TIMEOUT_S:
            raise _no_response()
        finished, self._finished = self._finished, []
        self._unfinished.difference_update(request_id for request_id, _ in finished)
        return finished

    def abort_all(self) -> None:
        """See `Engine.abort_all`."""
        self._unfinished.clear()
        self._call(AbortAll())
        self._finished.clear()

    def load_weights(self, weights: Iterable[tuple[str, torch.Tensor]], version: int) -> None:
        """See `Engine.load_weights`; an adapter travels as a message."""
        if self._serves_adapter:
            self._call(LoadAdapter(serialized(weights), version))
            self.version = version
            return
        if self._sender is None:
            configure()
            with without_garbage_collection(freeze=False):
                from agnostics.inference.weight_transfer.sender import WeightSender

            self._sender = WeightSender(self.transfer, self._workers, self._call_worker)
        self._sender.send(list(self._checkpoint_names.convert(weights)))
        self._call(ResumeSampling(version))
        self.version = version

    def set_num_threads(self, count: int) -> None:
        """See `Engine.set_num_threads`."""
        self._call(SetNumThreads(count))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        if not self._is_loaded:
            self._process.kill()  # while it loads it does not notice that the connection is closed
        self._process.__exit__(*exception)

    @cached_property
    def _checkpoint_names(self) -> CheckpointNames:
        return CheckpointNames(self._folder)

    def _call_worker(self, name: str, arguments: dict[str, Any]) -> None:
        self._call(WorkerCall(name, arguments))

    def _call(self, message: object) -> None:
        """Send a message and wait for its result. Raises AgnosticsError if it failed."""
        self._send(message)
        self._wait_for_result()

    def _wait_for_result(self) -> None:
        result = None
        while result is None:
            if not self._connection.poll(RESPONSE_TIMEOUT_S):
                raise _no_response()
            result = self._receive()
        if result.error:
            raise AgnosticsError(f"the engine's process: {result.error}")

    def _send(self, message: object) -> None:
        try:
            self._connection.send(message)
        except ConnectionError as error:
            raise self._process.ended() from error

    def _receive(self) -> CallResult | None:
        """Take the next message. Raises AgnosticsError if sampling failed, or the process is gone."""
        try:
            message = self._connection.recv()
        except (EOFError, ConnectionError) as error:
            raise self._process.ended() from error
        self._last_message_s = time.monotonic()
        match message:
            case FinishedRequests(completions):
                self._finished += completions
            case SamplingFailed(reason):
                raise AgnosticsError(f"the engine's process: {reason}")
            case CallResult():
                return message
        return None


def wait_for_any(engines: Sequence[RemoteEngine]) -> None:
    """Wait until one of `engines` has completions or sends a message, for a short time."""
    if not any(engine._finished for engine in engines):
        wait([engine._connection for engine in engines], _POLL_S)


def _no_response() -> AgnosticsError:
    return AgnosticsError(f"the engine's process has sent nothing for {RESPONSE_TIMEOUT_S:.0f} s")


def _without_launcher() -> dict[str, str]:
    """The environment without the variables of a launcher's rank: an engine is not a rank."""
    return {name: value for name, value in os.environ.items() if name not in _LAUNCHER_VARIABLES}
