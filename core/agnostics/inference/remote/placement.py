"""The GPUs of engines in processes of their own, and the transport of weights to them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

from agnostics.inference.remote.messages import TransferBackend
from agnostics.types.errors import UsageError
from agnostics.util.text import plural


@dataclass(frozen=True, slots=True)
class EnginePlacement:
    """The transport of weights to an engine, and the environment variables that show it its GPUs."""

    transfer: TransferBackend
    environment: Mapping[str, str]


def place_engines(processes: int, size: int, *, beside_trainer: bool) -> list[EnginePlacement]:
    """The places of this rank's `processes` engines, each of `size` GPUs of its own.

    The GPUs after the first ones of this machine, which are the ranks', belong to the engines of the first rank, then
    to those of the second, and so on; without a trainer (`beside_trainer`) the first ones too. If there are too few, a
    single engine of one GPU shares its rank's. Raises UsageError for more engines or larger ones.
    """
    import torch

    if not torch.cuda.is_available():
        return [EnginePlacement("gloo", {})] * processes
    rank, ranks = int(os.environ.get("LOCAL_RANK", "0")), int(os.environ.get("LOCAL_WORLD_SIZE", "1"))
    devices = _visible_devices(torch.cuda.device_count())
    kept, own = ranks if beside_trainer else 0, processes * size
    if len(devices) >= kept + ranks * own:
        starts = range(kept + rank * own, kept + (rank + 1) * own, size)
        return [_place("nccl", devices[start : start + size]) for start in starts]
    if own > 1:
        raise _too_few(processes, size, ranks if beside_trainer else 0, kept + ranks * own, len(devices))
    return [_place("ipc", [devices[rank]])]


def _visible_devices(count: int) -> list[str]:
    visible = os.environ.get("CUDA_VISIBLE_DEVICES", "")
    return visible.split(",") if visible else [str(number) for number in range(count)]


def _place(transfer: TransferBackend, devices: list[str]) -> EnginePlacement:
    return EnginePlacement(transfer, {"CUDA_VISIBLE_DEVICES": ",".join(devices)})


def _too_few(processes: int, size: int, ranks: int, needed: int, count: int) -> UsageError:
    engines = f"engine_processes = {processes} with tensor_parallel_size = {size}"
    beside = f" beside {plural(ranks, 'rank')}" if ranks else ""
    return UsageError(f"{engines}{beside} needs {needed} GPUs, not {count}")
