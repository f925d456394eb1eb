"""The trainer's side of vLLM's weight transfer."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from vllm.distributed.weight_transfer.base import ParamMeta, TrainerInitInfo, WeightSource
from vllm.distributed.weight_transfer.factory import WeightTransferTrainerFactory

from agnostics.inference.remote.messages import TransferBackend

if TYPE_CHECKING:
    import torch

WorkerMethod = Callable[[str, dict[str, Any]], None]
"""Calls a method of vLLM's worker, by name and arguments, and returns when it is done."""


class WeightSender:
    """Sends all weights to one engine, through the methods of its `workers`; it connects when it first sends."""

    def __init__(self, transfer: TransferBackend, workers: int, call: WorkerMethod) -> None:
        self._transfer, self._workers = transfer, workers
        self._client = _Client(call)
        self._source = _LatestWeights()
        self._trainer: Any = None

    def send(self, weights: Sequence[tuple[str, torch.Tensor]]) -> None:
        """Replace the weights of the engine's model by `weights`, by their names in the model's folder."""
        self._source.weights = weights
        if self._trainer is None:
            self._trainer = WeightTransferTrainerFactory.trainer_init(
                _init_info(self._transfer, self._workers), client=self._client, source=self._source
            )
        self._trainer.send_weights()
        self._source.weights = ()


class _LatestWeights(WeightSource):
    """The weights to send."""

    weights: Sequence[tuple[str, torch.Tensor]] = ()

    def metadata(self) -> list[ParamMeta]:
        return [ParamMeta(name, weight.dtype, tuple(weight.shape)) for name, weight in self.weights]

    def __iter__(self) -> Iterator[tuple[str, torch.Tensor]]:
        return iter(self.weights)


class _Client:
    """The engine as vLLM's trainer side calls it: a `VLLMWeightSyncClient`."""

    def __init__(self, call: WorkerMethod) -> None:
        self._call = call

    def init_weight_transfer_engine(self, init_info: dict[str, Any]) -> None:
        self._call("init_weight_transfer_engine", {"init_info": init_info})

    def start_weight_update(self) -> None:
        self._call("start_weight_update", {})

    def update_weights(self, update_info: dict[str, Any] | list[dict[str, Any]]) -> None:
        self._call("update_weights", {"update_info": update_info})

    def finish_weight_update(self, weight_version: str | None = None) -> None:  # noqa: ARG002  (vLLM's signature)
        self._call("finish_weight_update", {})


def _init_info(transfer: TransferBackend, workers: int) -> TrainerInitInfo:
    """The settings of the trainer's side. Each engine has one trainer."""
    if transfer == "gloo":
        from agnostics.inference.weight_transfer.gloo import GlooTrainerInitInfo

        return GlooTrainerInitInfo(rank=0, workers=workers)
    if transfer == "ipc":
        from vllm.distributed.weight_transfer.ipc_engine import IPCTrainerInitInfo

        return IPCTrainerInitInfo(rank=0, packed=True)
    from vllm.distributed.weight_transfer.nccl_engine import NCCLTrainerInitInfo

    return NCCLTrainerInitInfo(rank=0, master_address="127.0.0.1", master_port=_free_port(), world_size=workers + 1)


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])
