"""An estimate of the memory that a run takes on each device, from the shape of its model."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Literal

from agnostics.inference.engine import AdapterSettings
from agnostics.models.shape import ModelShape
from agnostics.train.config import RolloutConfig, RunConfig, TrainConfig

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
    """Copies of the weights on their way to the engine: gathered ones in stage 3, those with merged adapters. If the
    engine serves the adapter, its weights alone in stage 3."""
    reference: int
    engine_weights: int
    """With what vLLM reserves for an adapter that it serves."""
    kv_cache: int
    engine_present: Literal["always", "while sampling", "never"] = "always"
    """When the engine's memory is taken on the trainer's device: with sleep mode not in an update; never if several
    engines, or one of several devices, have others."""

    @property
    def parts(self) -> dict[str, int]:
        """Bytes by purpose."""
        return {name: size for name, size in asdict(self).items() if name != "engine_present"}

    @property
    def total(self) -> int:
        """The peak of a device; CUDA itself and fragmentation come on top."""
        phases = (self.bucket + self.activations + self.logits, self.update, self.sync)
        engine = self.engine_weights + self.kv_cache
        states = sum(self.parts.values()) - engine - sum(phases)
        if self.engine_present == "always":
            return states + engine + max(phases)
        if self.engine_present == "never":
            return max(states + max(phases), engine)
        *update, sync = phases
        return states + max(*update, self.engine_weights + max(sync, self.kv_cache))


def estimate_memory(
    shape: ModelShape,
    config: RunConfig,
    longest: int,
    *,
    reference: bool,
    stage: int,
    devices: int,
    max_turns: int = 1,
) -> MemoryEstimate:
    """The memory of a run on each of `devices`, at ZeRO stage `stage`.

    `longest` is the most tokens of an episode of up to `max_turns` actions with its prompt; `reference` is whether the
    starting model is kept.
    ZeRO divides among the devices: the optimizer's state, from stage 2 gradients, in stage 3 weights (Rajbhandari et
    al. 2020, arXiv:1910.02054, section 5). Each device has an engine of its own, unless engines have other devices.
    """
    width, train, rollout = _width(config), config.train, config.rollout
    adapted = _adapted(shape, train) if train.lora_rank else []
    model, adapters = (
        shape.parameters * width,
        train.lora_rank * sum(inputs + outputs for _, inputs, outputs in adapted),
    )
    merged = width * sum(inputs * outputs for _, inputs, outputs in adapted)
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
        sync=_sync(config, stage, model, adapters * width, merged),
        reference=model if reference else 0,
        engine_weights=model // rollout.tensor_parallel_size + _served(config, adapters * width),
        kv_cache=_kv_cache(shape, config, longest, max_turns),
        engine_present=_engine_present(rollout),
    )


def _engine_present(rollout: RolloutConfig) -> Literal["always", "while sampling", "never"]:
    if rollout.engine_processes * rollout.tensor_parallel_size > 1:
        return "never"
    return "while sampling" if rollout.sleep_mode else "always"


def _sync(config: RunConfig, stage: int, model: int, adapters: int, merged: int) -> int:
    """Bytes on the way to the engine: adapters it serves are copied if they are divided, and leave the device."""
    if config.rollout.serve_adapter:
        return adapters if stage == 3 else 0
    return model if stage == 3 else merged


def _served(config: RunConfig, adapters: int) -> int:
    """Bytes that vLLM reserves for the adapter, if it serves one."""
    train = config.train
    if not config.rollout.serve_adapter:
        return 0
    return adapters * AdapterSettings(train.lora_rank, train.lora_alpha, ()).buffer_rank // train.lora_rank


def served_adapter(shape: ModelShape, train: TrainConfig) -> AdapterSettings:
    """The adapter of a run as an engine serves it."""
    modules = {name.rpartition(".")[2] for name, _, _ in _adapted(shape, train)}
    return AdapterSettings(train.lora_rank, train.lora_alpha, tuple(sorted(modules)))


def _adapted(shape: ModelShape, train: TrainConfig) -> list[tuple[str, int, int]]:
    """Each layer with an adapter, which has its rank of parameters for each of the layer's inputs and outputs."""
    chosen = train.lora_target_modules
    return [
        (name, inputs, outputs)
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
    return shape.cached_numbers * _width(config)


def _width(config: RunConfig) -> int:
    """Bytes of a number in the forward pass."""
    return 2 if config.train.dtype == "bfloat16" else _FLOAT


def _kv_cache(shape: ModelShape, config: RunConfig, longest: int, max_turns: int) -> int:
    """vLLM's cache is as large as configured; that of transformers grows to the size of a batch.

    Beside it, transformers keeps what later turns may continue.
    """
    rollout = config.rollout
    if rollout.engine == "vllm":
        return rollout.kv_cache_gib << 30
    sequence = longest * kv_bytes_per_token(shape, config)
    episodes = rollout.prompts_per_step * rollout.group_size
    kept = min(rollout.kv_cache_gib << 30, episodes * sequence) if max_turns > 1 else 0
    return min(rollout.max_num_seqs, episodes) * sequence + kept
