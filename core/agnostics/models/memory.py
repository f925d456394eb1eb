"""How much memory a run takes on each device, from the shape of its model."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from agnostics.train.config import RunConfig, TrainConfig

BUCKET = 500_000_000
"""Elements in the buffer that DeepSpeed reduces gradients through: its `reduce_bucket_size`."""
LOGITS = 3 << 28
"""What `TokenScorer` makes of the head at one time: 256 MiB of logits, their softmax, its gradient."""
_FLOAT = 4


@dataclass(frozen=True, slots=True)
class Shape:
    """What of a model decides its memory: how many parameters, and how wide each part of a layer is.

    `linear` is every linear layer but the head: its name, and its inputs and outputs together. `queries` and `keys` are
    heads times the size of a head; `normed` is all that a layer normalises.
    """

    parameters: int
    linear: tuple[tuple[str, int], ...]
    layers: int
    hidden: int
    queries: int
    keys: int
    normed: int
    intermediate: int


@dataclass(frozen=True, slots=True)
class Memory:
    """Bytes on one device, by what they hold: the trainer's first, then the engine's.

    Bucket, activations and logits are there in the backward pass, and what the update takes is there after it.
    """

    weights: int
    """The model's, and those of its adapters."""
    optimizer: int
    """What is trained, in float32, and AdamW's two moments."""
    gradients: int
    bucket: int
    activations: int
    """What the forward pass of a micro batch keeps for the backward pass: an estimate."""
    logits: int
    update: int
    """Copies of the gradients: in one piece, and in float32."""
    reference: int
    engine_weights: int
    kv_cache: int

    @property
    def total(self) -> int:
        """At the fullest moment; CUDA itself, and what lies waste between tensors, come on top."""
        backward = self.bucket + self.activations + self.logits
        everything: int = sum(asdict(self).values())
        return everything - min(backward, self.update)


def shape_of(folder: Path) -> Shape:
    """The shape of the model that the config.json in `folder` describes; it is built, but of nothing."""
    import torch
    from torch import nn
    from transformers import AutoConfig, AutoModelForCausalLM

    config: Any = AutoConfig.from_pretrained(folder)
    with torch.device("meta"):
        model: Any = AutoModelForCausalLM.from_config(config)
    parameters = dict(model.named_parameters())
    head = model.get_output_embeddings()
    layers = [(name, one) for name, one in model.named_modules() if isinstance(one, nn.Linear) and one is not head]
    heads = config.num_attention_heads
    size = getattr(config, "head_dim", None) or config.hidden_size // heads
    queries, keys = heads * size, (getattr(config, "num_key_value_heads", None) or heads) * size
    normed = queries + keys if any(name.endswith("q_norm.weight") for name in parameters) else 0
    return Shape(
        parameters=sum(parameter.numel() for parameter in parameters.values()),
        linear=tuple((name, layer.in_features + layer.out_features) for name, layer in layers),
        layers=config.num_hidden_layers,
        hidden=config.hidden_size,
        queries=queries,
        keys=keys,
        normed=2 * config.hidden_size + normed,
        intermediate=getattr(config, "intermediate_size", None) or 4 * config.hidden_size,
    )


def memory_of(shape: Shape, config: RunConfig, longest: int, *, reference: bool, stage: int, devices: int) -> Memory:
    """The memory of a run on each of `devices`, at ZeRO stage `stage`.

    `longest` is the most tokens of a prompt and its answer; `reference` is whether the model that the run began with is
    kept. What ZeRO divides among the devices: the optimizer's state, from stage 2 gradients, in stage 3 weights
    (Rajbhandari et al. 2020, arXiv:1910.02054, section 5). Each device has an engine of its own.
    """
    width = _width(config)
    model, adapters = shape.parameters * width, _adapters(shape, config.train)
    trained = adapters or shape.parameters
    share = trained // devices
    return Memory(
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


def _adapters(shape: Shape, train: TrainConfig) -> int:
    """How many parameters low-rank adapters have: their rank for each input and each output of a layer."""
    chosen = train.lora_target_modules
    adapted = [
        width
        for name, width in shape.linear
        if chosen == "all-linear" or any(f".{name}".endswith(f".{ending}") for ending in chosen)
    ]
    return train.lora_rank * sum(adapted)


def kept_per_token(shape: Shape, width: int) -> int:
    """Bytes that the forward pass keeps of a token for the backward pass, where a number takes `width` bytes.

    In each layer: of each norm its input in float32, what it makes of it and its output; queries, and keys and values
    repeated for every query, attention's result and that result in order; four of the MLP's width. Then the last norm.
    """
    norm = _FLOAT + 2 * width
    layer = norm * shape.normed + width * (5 * shape.queries + 4 * shape.intermediate)
    return shape.layers * layer + norm * shape.hidden


def kv_bytes_per_token(shape: Shape, config: RunConfig) -> int:
    """Bytes of the keys and values of one token."""
    return 2 * shape.layers * shape.keys * _width(config)


def _width(config: RunConfig) -> int:
    """Bytes of a number in the forward pass."""
    return 2 if config.train.dtype == "bfloat16" else _FLOAT


def _kv_cache(shape: Shape, config: RunConfig, longest: int) -> int:
    """vLLM's is as large as the configuration says; that of transformers grows to what a batch needs."""
    rollout = config.rollout
    if rollout.engine == "vllm":
        return rollout.kv_cache_gib << 30
    running = min(rollout.max_num_seqs, rollout.prompts_per_step * rollout.group_size)
    return running * longest * kv_bytes_per_token(shape, config)
