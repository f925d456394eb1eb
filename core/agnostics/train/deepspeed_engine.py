"""The DeepSpeed engine: started in one process without a launcher, and without output."""

from __future__ import annotations

import logging
import os
import sys
import warnings
from typing import Any

import torch
from torch import nn

from agnostics.models.accelerator import choose_accelerator
from agnostics.train.config import TrainConfig
from agnostics.types.errors import MissingRequirement
from agnostics.util.imports import without_garbage_collection


def initialise(module: nn.Module, settings: TrainConfig) -> Any:
    """A DeepSpeed engine around `module` with AdamW. Gradients accumulate until its `step`."""
    deepspeed = _import()
    _ensure_process_group(deepspeed)
    # Shared memory between ranks on a CPU: its extension takes half a minute and a compiler to build.
    deepspeed.ops.__compatible_ops__["deepspeed_shm_comm"] = False
    parameters = [parameter for parameter in module.parameters() if parameter.requires_grad]
    optimizer = torch.optim.AdamW(parameters, lr=settings.learning_rate, weight_decay=settings.weight_decay)
    return deepspeed.initialize(model=module, optimizer=optimizer, config=_config(settings))[0]


def _import() -> Any:
    choose_accelerator()
    try:
        with without_garbage_collection(freeze=False):
            import deepspeed
    except ImportError as error:
        raise MissingRequirement(
            f"DeepSpeed cannot be imported ({error}); run: pip install 'agnostics[train]'"
        ) from error
    logger = logging.getLogger("DeepSpeed")
    logger.setLevel(logging.ERROR)
    for handler in logger.handlers:
        if isinstance(handler, logging.StreamHandler) and handler.stream is sys.stdout:
            handler.setStream(sys.stderr)
    warnings.filterwarnings("ignore", category=FutureWarning, module=r"torch\.distributed")
    # The current device is this rank's: `select_device` has set it.
    warnings.filterwarnings("ignore", message=r"barrier\(\): using the device under current context")
    return deepspeed


def _ensure_process_group(deepspeed: Any) -> None:
    """Use the process group of the ranks, or create one of this process alone, without a port or a file."""
    for name, value in {"RANK": "0", "LOCAL_RANK": "0", "WORLD_SIZE": "1"}.items():
        os.environ.setdefault(name, value)
    if not torch.distributed.is_initialized():
        deepspeed.utils.groups._WORLD_GROUP = None  # a vLLM engine that was closed may have destroyed the previous one
        backend = "nccl" if torch.cuda.is_available() else "gloo"
        store = torch.distributed.HashStore()  # type: ignore[attr-defined]
        torch.distributed.init_process_group(backend, store=store, rank=0, world_size=1)


def _config(settings: TrainConfig) -> dict[str, Any]:
    return {
        "train_micro_batch_size_per_gpu": 1,
        "gradient_accumulation_steps": 1,
        "managed_gradient_accumulation": False,
        "gradient_clipping": settings.max_grad_norm,
        "zero_optimization": {"stage": settings.zero_stage},
        "zero_allow_untested_optimizer": True,
        "bf16": {"enabled": settings.dtype == "bfloat16"},
        "steps_per_print": sys.maxsize,
    }
