"""An estimate of the memory that a run takes on each device, from the shape of its model."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from agnostics.models.shape import ModelShape
from agnostics.train.config import RunConfig, TrainConfig

BUCKET = 500_000_000
"""Elements in the buffer that DeepSpeed reduces gradients through: its `reduce_bucket_size`."""
LOGITS = 3 << 28
"""Bytes of a chunk of the head in `TokenLogprobModel`: 256 MiB of logits, their softmax, its gradient."""
_FLOAT = 4


@dataclass(frozen=True, slots=True)
class MemoryEstimate:
    """Bytes on one device, by their purpose: the trainer's first, then the engine's.

    Bucket, activations and logits are held in the backward pass, and `update` after it.
    """

    weights: int
    """The model's, and those of its adapters."""
    optimizer: int
    """The trained parameters in float32, and AdamW's two moments."""
    gradients: int
    bucket: int
    activations: int
    """Activations of a micro batch that are kept for the backward pass: an estimate."""
    logits: int
    update: int
    """Copies of the gradients: in one piece, and in float32."""
    reference: int
    engine_weights: int
    kv_cache: int

    @property
    def total(self) -> int:
        """The peak; CUDA itself and fragmentation come on top."""
        backward = self.bucket + self.activations + self.logits
        everything: int = sum(asdict(self).values())
        return everything - min(backward, self.update)


def estimate_memory(
    shape: ModelShape, config: RunConfig, longest: int, *, reference: bool, stage: int, devices: int
) -> MemoryEstimate:
    """The memory of a run on each of `devices`, at ZeRO stage `stage`.

    `longest` is the most tokens of a prompt and its completion; `reference` is whether the starting model is kept.
    ZeRO divides among the devices: the optimizer's state, from stage 2 gradients, in stage 3 weights (Rajbhandari et
    al. 2020, arXiv:1910.02054, section 5). Each device has an engine of its own.
    """
    width = _width(config)
    model, adapters = shape.parameters * width, _adapters(shape, config.train)
    trained = adapters or shape.parameters
    share = trained // devices
    return MemoryEstimate(
        weights=(model + adapters * width) // (devices if stage == 3 else 1),
        optimizer=3 * _FLOAT * share,
        gradients=trained * width // (devices if stage >= 2 else 1),
        bucket=BUCKET * width,
        activations=max(config.train.micro_batch_tokens, longest) * kept_per_token(shape, width),
        logits=LOGITS,
        update=width * share + (_FLOAT * share if width < _FLOAT else 0),
        reference=model if reference else 0,
        engine_weights=model,
        kv_cache=_kv_cache(shape, config, longest),
    )


def _adapters(shape: ModelShape, train: TrainConfig) -> int:
    """The number of parameters of LoRA adapters: their rank for each input and each output of a layer."""
    chosen = train.lora_target_modules
    adapted = [
        width
        for name, width in shape.linear
        if chosen == "all-linear" or any(f".{name}".endswith(f".{ending}") for ending in chosen)
    ]
    return train.lora_rank * sum(adapted)


def kept_per_token(shape: ModelShape, width: int) -> int:
    """Bytes of activations per token that are kept for the backward pass, at `width` bytes per number.

    In each layer: each norm's input in float32, its normalised input and its output; queries, keys and values repeated
    for every query, the attention output and its transpose; four of the MLP's width. Then the last norm.
    """
    norm = _FLOAT + 2 * width
    layer = norm * shape.normed + width * (5 * shape.queries + 4 * shape.intermediate)
    return shape.layers * layer + norm * shape.hidden


def kv_bytes_per_token(shape: ModelShape, config: RunConfig) -> int:
    """Bytes of the keys and values of one token."""
    return 2 * shape.layers * shape.keys * _width(config)


def _width(config: RunConfig) -> int:
    """Bytes of a number in the forward pass."""
    return 2 if config.train.dtype == "bfloat16" else _FLOAT


def _kv_cache(shape: ModelShape, config: RunConfig, longest: int) -> int:
    """vLLM's cache is as large as configured; that of transformers grows to the size of a batch."""
    rollout = config.rollout
    if rollout.engine == "vllm":
        return rollout.kv_cache_gib << 30
    running = min(rollout.max_num_seqs, rollout.prompts_per_step * rollout.group_size)
    return running * longest * kv_bytes_per_token(shape, config)
