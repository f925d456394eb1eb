"""A backend of vLLM's weight transfer over gloo, for machines without a GPU."""

from __future__ import annotations

import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, ClassVar, Self

import torch
from torch import distributed
from vllm.distributed import get_tensor_model_parallel_rank
from vllm.distributed.weight_transfer.base import (
    TrainerInitInfo,
    TrainerWeightTransferEngine,
    VLLMWeightSyncClient,
    WeightSource,
    WeightTransferEngine,
    WeightTransferInitInfo,
    WeightTransferUpdateInfo,
)
from vllm.distributed.weight_transfer.factory import WeightTransferEngineFactory, WeightTransferTrainerFactory
from vllm.model_executor.model_loader.reload import finalize_layerwise_reload, initialize_layerwise_reload

from agnostics.inference.weight_transfer.vllm_worker import PolicyWorker, forget_expert_kernels, refresh_head

__all__ = ["GlooTrainerInitInfo", "GlooWeightTransferEngine", "PolicyWorker"]
TIMEOUT = timedelta(minutes=5)
_TRAINER = 0
"""The trainer's rank; those of the engine's workers follow."""


@dataclass
class GlooTrainerInitInfo(TrainerInitInfo):
    """The trainer's settings: the number of the engine's workers."""

    backend: ClassVar[str] = "gloo"
    workers: int = 1


@dataclass
class GlooInitInfo(WeightTransferInitInfo):
    """The rendezvous of `world_size` processes: a file that all of them see."""

    rendezvous_file: str
    world_size: int


@dataclass
class GlooUpdateInfo(WeightTransferUpdateInfo):
    """The weights of an update, in the order of their transfer."""

    names: list[str]
    dtype_names: list[str]
    shapes: list[list[int]]


class GlooWeightTransferEngine(WeightTransferEngine[GlooInitInfo, GlooUpdateInfo]):
    """The engine's side: weights arrive one after another and are loaded like a checkpoint's."""

    init_info_cls = GlooInitInfo
    update_info_cls = GlooUpdateInfo
    _group: Any = None

    def init_transfer_engine(self, init_info: GlooInitInfo) -> None:
        """Connect to the trainer."""
        rank = _TRAINER + 1 + get_tensor_model_parallel_rank()
        self._group = _connect(init_info.rendezvous_file, rank, init_info.world_size)

    def start_weight_update(self) -> None:
        """Expect weights in the format of a checkpoint."""
        forget_expert_kernels(self.model)
        initialize_layerwise_reload(self.model)

    def update_weights(self, update_info: dict[str, Any]) -> None:
        """Receive the weights; there is no accelerator to synchronise."""
        self.receive_weights(self.parse_update_info(update_info))

    def receive_weights(self, update_info: GlooUpdateInfo) -> None:
        """Load each weight as it arrives."""
        for name, dtype, shape in zip(update_info.names, update_info.dtype_names, update_info.shapes, strict=True):
            weight = torch.empty(shape, dtype=getattr(torch, dtype))
            self._group.broadcast(weight.view(torch.uint8), _TRAINER).wait()
            self.model.load_weights([(name, weight)])

    def finish_weight_update(self) -> None:
        """Use the received weights."""
        finalize_layerwise_reload(self.model, self.model_config)
        refresh_head(self.model)

    def shutdown(self) -> None:
        """Disconnect from the trainer."""
        self._group = None


class GlooTrainerWeightTransferEngine(TrainerWeightTransferEngine[GlooTrainerInitInfo]):
    """The trainer's side: sends all weights of `source`."""

    init_info_cls = GlooTrainerInitInfo
    source: WeightSource
    _group: Any

    @classmethod
    def trainer_init(
        cls, init_info: GlooTrainerInitInfo, *, client: VLLMWeightSyncClient, source: WeightSource | None = None
    ) -> Self:
        """Connect to the engine. Raises ValueError without a `source`."""
        if source is None:
            raise ValueError("weights are sent from a WeightSource")
        trainer = cls(client=client, source=source, is_sender=init_info.is_sender)
        with tempfile.TemporaryDirectory(prefix="agn-weights-") as folder, ThreadPoolExecutor(1) as thread:
            info = GlooInitInfo(str(Path(folder) / "rendezvous"), init_info.workers + 1)
            connected = thread.submit(client.init_weight_transfer_engine, asdict(info))
            trainer._group = _connect(info.rendezvous_file, _TRAINER, info.world_size)
            connected.result()
        return trainer

    def send_weights(self) -> None:
        """Replace the engine's weights by the source's."""
        metadata = self.source.metadata()
        update = GlooUpdateInfo(
            names=[weight.name for weight in metadata],
            dtype_names=[str(weight.dtype).removeprefix("torch.") for weight in metadata],
            shapes=[list(weight.shape) for weight in metadata],
        )
        self.client.start_weight_update()
        thread = ThreadPoolExecutor(1)
        try:
            received = thread.submit(self.client.update_weights, asdict(update))
            for _, weight in self.source:
                self._group.broadcast(weight.contiguous().view(torch.uint8), _TRAINER).wait()
            received.result()
        finally:
            thread.shutdown(wait=False)  # if sending failed, the other side waits until its timeout
        self.client.finish_weight_update()


def _connect(file: str, rank: int, size: int) -> Any:
    store = distributed.FileStore(file, size)  # type: ignore[attr-defined]
    return distributed.ProcessGroupGloo(store, rank, size, timeout=TIMEOUT)


WeightTransferEngineFactory.register_engine("gloo", GlooWeightTransferEngine)
WeightTransferTrainerFactory.register_engine("gloo", GlooTrainerWeightTransferEngine)
