"""vLLM in a process of its own: sampling shares no interpreter lock with training, and may have its own GPU."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

from agnostics.inference.engine import Completion, CompletionRequest, EngineSettings, SamplingParams
from agnostics.inference.remote.messages import (
    AbortAll,
    AddRequest,
    CallResult,
    FinishedRequests,
    ResumeSampling,
    SamplingFailed,
    SetNumThreads,
    StartEngine,
    TransferBackend,
    WorkerCall,
)
from agnostics.inference.vllm import configure
from agnostics.inference.weight_transfer.checkpoint_names import CheckpointNames
from agnostics.types.errors import AgnosticsError, UsageError
from agnostics.util.child_process import ChildProcess

if TYPE_CHECKING:
    import torch

    from agnostics.inference.weight_transfer.sender import WeightSender

RESPONSE_TIMEOUT_S = 900.0
"""The longest silence of the engine's process."""
_POLL_S = 0.05
_LAUNCHER_VARIABLES = {"RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"}
_SERVER = "agnostics.inference.remote.server"


class RemoteEngine:
    """vLLM with one model loaded, in a process that ends with this one; an interrupt does not reach it.

    New weights travel through vLLM's own weight transfer.
    """

    def __init__(self, settings: EngineSettings) -> None:
        self.version = 0
        self._folder, self._workers = settings.folder, settings.tensor_parallel_size
        self._unfinished: set[int] = set()
        self._finished: list[tuple[int, Completion]] = []
        self._last_message_s = time.monotonic()
        self._transfer, environment = _placement(settings.tensor_parallel_size)
        self._sender: WeightSender | None = None
        self._process = ChildProcess(_SERVER, "the engine's process", {**_without_launcher(), **environment})
        self._connection = self._process.connection
        try:
            self._call(StartEngine(settings, self._transfer))
        except BaseException:
            self.__exit__()
            raise

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

    def step(self) -> list[tuple[int, Completion]]:
        """The completions that have finished, as `Engine.step`; after a short wait maybe none."""
        if not self._finished and self._connection.poll(_POLL_S):
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
        """See `Engine.load_weights`."""
        if self._sender is None:
            configure()
            from agnostics.inference.weight_transfer.sender import WeightSender

            self._sender = WeightSender(self._transfer, self._workers, self._call_worker)
        self._sender.send(list(self._checkpoint_names.convert(weights)))
        self._call(ResumeSampling(version))
        self.version = version

    def set_num_threads(self, count: int) -> None:
        """See `Engine.set_num_threads`."""
        self._call(SetNumThreads(count))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self._process.__exit__(*exception)

    @cached_property
    def _checkpoint_names(self) -> CheckpointNames:
        return CheckpointNames(self._folder)

    def _call_worker(self, name: str, arguments: dict[str, Any]) -> None:
        self._call(WorkerCall(name, arguments))

    def _call(self, message: object) -> None:
        """Send a message and wait for its result. Raises AgnosticsError if it failed."""
        self._send(message)
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


def _no_response() -> AgnosticsError:
    return AgnosticsError(f"the engine's process has sent nothing for {RESPONSE_TIMEOUT_S:.0f} s")


def _without_launcher() -> dict[str, str]:
    """The environment without the variables of a launcher's rank: an engine is not a rank."""
    return {name: value for name, value in os.environ.items() if name not in _LAUNCHER_VARIABLES}


def _placement(size: int) -> tuple[TransferBackend, Mapping[str, str]]:
    """The transport of weights, and the environment that shows the engine its GPUs.

    Where there are `size` GPUs for each rank on this machine besides its own, the engines have those after the ranks';
    else an engine of one GPU shares its rank's. Raises UsageError for a larger one.
    """
    import torch

    if not torch.cuda.is_available():
        return "gloo", {}
    rank, ranks = int(os.environ.get("LOCAL_RANK", "0")), int(os.environ.get("LOCAL_WORLD_SIZE", "1"))
    count = torch.cuda.device_count()
    visible = os.environ.get("CUDA_VISIBLE_DEVICES", "")
    devices = visible.split(",") if visible else [str(number) for number in range(count)]
    if count >= ranks * (1 + size):
        own = devices[ranks + rank * size : ranks + (rank + 1) * size]
        return "nccl", {"CUDA_VISIBLE_DEVICES": ",".join(own)}
    if size > 1:
        raise UsageError(
            f"rollout.tensor_parallel_size = {size} needs {ranks * (1 + size)} GPUs for {ranks} ranks, not {count}"
        )
    return "ipc", {"CUDA_VISIBLE_DEVICES": devices[rank]}
