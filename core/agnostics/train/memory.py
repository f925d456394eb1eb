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

    Bucket, activations and logits are held in the backward pass, `update` after it, and `sync` after that.
    """

    weights: int
    """The model's, and those of its adapters."""
    optimizer: int
    """The trained parameters in float32, and AdamW's two moments."""
    gradients: int
    """With the bucket in stage 3, which never frees it."""
    bucket: int
    activations: int
    """Activations of a micro batch that are kept for the backward pass: an estimate."""
    logits: int
    update: int
    """Copies of the gradients: in one piece, and in float32."""
    sync: int
    """Copies of the weights on their way to the engine: gathered ones in stage 3, those with merged adapters."""
    reference: int
    engine_weights: int
    kv_cache: int

    @property
    def total(self) -> int:
        """The peak; CUDA itself and fragmentation come on top."""
        phases = (self.bucket + self.activations + self.logits, self.update, self.sync)
        everything: int = sum(asdict(self).values())
        return everything - sum(phases) + max(phases)


def estimate_memory(
    shape: ModelShape, config: RunConfig, longest: int, *, reference: bool, stage: int, devices: int
) -> MemoryEstimate:
    """The memory of a run on each of `devices`, at ZeRO stage `stage`.

    `longest` is the most tokens of a prompt and its completion; `reference` is whether the starting model is kept.
    ZeRO divides among the devices: the optimizer's state, from stage 2 gradients, in stage 3 weights (Rajbhandari et
    al. 2020, arXiv:1910.02054, section 5). Each device has an engine of its own.
    """
    width, train = _width(config), config.train
    adapted = _adapted(shape, train) if train.lora_rank else []
    model, adapters = shape.parameters * width, train.lora_rank * sum(map(sum, adapted))
    merged = width * sum(inputs * outputs for inputs, outputs in adapted)
    trained = adapters or shape.parameters
    share, bucket = trained // devices, BUCKET * width
    return MemoryEstimate(
        weights=(model + adapters * width) // (devices if stage == 3 else 1),
        optimizer=3 * _FLOAT * share,
        gradients=trained * width // (devices if stage >= 2 else 1) + (bucket if stage == 3 else 0),
        bucket=0 if stage == 3 else bucket,
        activations=max(train.micro_batch_tokens, longest)
        * kept_per_token(shape, width, recomputed=train.activation_checkpointing),
        logits=LOGITS,
        update=width * share + (_FLOAT * share if width < _FLOAT else 0),
        sync=model if stage == 3 else merged,
        reference=model if reference else 0,
        engine_weights=model // config.rollout.tensor_parallel_size,
        kv_cache=_kv_cache(shape, config, longest),
    )


def _adapted(shape: ModelShape, train: TrainConfig) -> list[tuple[int, int]]:
    """Inputs and outputs of each layer with an adapter, which has its rank of parameters for each of them."""
    chosen = train.lora_target_modules
    return [
        (inputs, outputs)
        for name, inputs, outputs in shape.linear
        if chosen == "all-linear" or any(f".{name}".endswith(f".{ending}") for ending in chosen)
    ]


def kept_per_token(shape: ModelShape, width: int, *, recomputed: bool) -> int:
    """Bytes of activations per token that are kept for the backward pass, at `width` bytes per number.

    In each layer: each norm's input in float32, its normalised input and its output; queries, keys and values repeated
    for every query, the attention output and its transpose; four of the MLP's width. If layers are `recomputed`, each
    one's input, and all this of one at a time. Then the last norm.
    """
    norm = _FLOAT + 2 * width
    layer = norm * shape.normed + width * (5 * shape.queries + 4 * shape.intermediate)
    layers = shape.layers * width * shape.hidden + layer if recomputed else shape.layers * layer
    return layers + norm * shape.hidden


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
