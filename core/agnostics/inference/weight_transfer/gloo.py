"""vLLM's weight transfer for machines without a GPU: a backend beside its NCCL and CUDA IPC, over gloo."""

from __future__ import annotations

import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, ClassVar, Self

import torch
from torch import distributed
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

from agnostics.inference.weight_transfer.vllm_worker import refresh_head

PATIENCE = timedelta(minutes=5)
_TRAINER, _WORKER, _BOTH = 0, 1, 2


@dataclass
class GlooTrainerInitInfo(TrainerInitInfo):
    """The trainer's side: it needs to know nothing."""

    backend: ClassVar[str] = "gloo"


@dataclass
class GlooInitInfo(WeightTransferInitInfo):
    """Where the two processes meet: a file that both of them see."""

    meeting_place: str


@dataclass
class GlooUpdateInfo(WeightTransferUpdateInfo):
    """What is about to come, in this order."""

    names: list[str]
    dtype_names: list[str]
    shapes: list[list[int]]


class GlooWeightTransferEngine(WeightTransferEngine[GlooInitInfo, GlooUpdateInfo]):
    """The engine's side: weights arrive one after another and are loaded as those of a checkpoint."""

    init_info_cls = GlooInitInfo
    update_info_cls = GlooUpdateInfo
    _group: Any = None

    def init_transfer_engine(self, init_info: GlooInitInfo) -> None:
        """Meet the trainer."""
        self._group = _met(init_info.meeting_place, _WORKER)

    def start_weight_update(self) -> None:
        """Take weights in the format of a checkpoint."""
        initialize_layerwise_reload(self.model)

    def update_weights(self, update_info: dict[str, Any]) -> None:
        """Receive what the trainer sends; there is no accelerator to wait for."""
        self.receive_weights(self.parse_update_info(update_info))

    def receive_weights(self, update_info: GlooUpdateInfo) -> None:
        """Load each weight as it comes."""
        for name, dtype, shape in zip(update_info.names, update_info.dtype_names, update_info.shapes, strict=True):
            weight = torch.empty(shape, dtype=getattr(torch, dtype))
            self._group.broadcast(weight.view(torch.uint8), _TRAINER).wait()
            self.model.load_weights([(name, weight)])

    def finish_weight_update(self) -> None:
        """Use the weights that have come."""
        finalize_layerwise_reload(self.model, self.model_config)
        refresh_head(self.model)

    def shutdown(self) -> None:
        """Part from the trainer."""
        self._group = None


class GlooTrainerWeightTransferEngine(TrainerWeightTransferEngine[GlooTrainerInitInfo]):
    """The trainer's side: sends all of its `source` each time."""

    init_info_cls = GlooTrainerInitInfo
    source: WeightSource
    _group: Any

    @classmethod
    def trainer_init(
        cls, init_info: GlooTrainerInitInfo, *, client: VLLMWeightSyncClient, source: WeightSource | None = None
    ) -> Self:
        """Meet the engine. Raises ValueError without a `source`."""
        if source is None:
            raise ValueError("weights are sent from a WeightSource")
        trainer = cls(client=client, source=source, is_sender=init_info.is_sender)
        with tempfile.TemporaryDirectory(prefix="agn-weights-") as folder, ThreadPoolExecutor(1) as thread:
            place = str(Path(folder) / "meeting")
            met = thread.submit(client.init_weight_transfer_engine, asdict(GlooInitInfo(place)))
            trainer._group = _met(place, _TRAINER)
            met.result()
        return trainer

    def send_weights(self) -> None:
        """Have the engine go on with the source's weights as they are now."""
        described = self.source.metadata()
        update = GlooUpdateInfo(
            names=[one.name for one in described],
            dtype_names=[str(one.dtype).removeprefix("torch.") for one in described],
            shapes=[list(one.shape) for one in described],
        )
        self.client.start_weight_update()
        thread = ThreadPoolExecutor(1)
        try:
            received = thread.submit(self.client.update_weights, asdict(update))
            for _, weight in self.source:
                self._group.broadcast(weight.contiguous().view(torch.uint8), _TRAINER).wait()
            received.result()
        finally:
            thread.shutdown(wait=False)  # where sending failed, the other side waits for it until its patience ends
        self.client.finish_weight_update()


def _met(place: str, rank: int) -> Any:
    store = distributed.FileStore(place, _BOTH)  # type: ignore[attr-defined]
    return distributed.ProcessGroupGloo(store, rank, _BOTH, timeout=PATIENCE)


WeightTransferEngineFactory.register_engine("gloo", GlooWeightTransferEngine)
WeightTransferTrainerFactory.register_engine("gloo", GlooTrainerWeightTransferEngine)
