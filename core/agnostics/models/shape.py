"""The shape of a model: the sizes that its memory depends on."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class ModelShape:
    """The sizes of a model that decide its memory: the number of parameters, and the width of each part of a layer.

    `linear` is every linear layer but the head: its name, its inputs and its outputs. `queries` and `keys` are heads
    times the size of a head; `normed` is the width of all norms of a layer.
    """

    parameters: int
    linear: tuple[tuple[str, int, int], ...]
    layers: int
    hidden: int
    queries: int
    keys: int
    normed: int
    intermediate: int

    @property
    def cached_numbers(self) -> int:
        """The numbers in the keys and values of one token."""
        return 2 * self.layers * self.keys


def shape_of(folder: Path) -> ModelShape:
    """The shape of the model that the config.json in `folder` describes; it is built without memory for weights."""
    import torch
    from torch import nn
    from transformers import AutoConfig, AutoModelForCausalLM

    config: Any = AutoConfig.from_pretrained(folder)
    with torch.device("meta"):
        model: Any = AutoModelForCausalLM.from_config(config)
    parameters = dict(model.named_parameters())
    head = model.get_output_embeddings()
    layers = [
        (name, module) for name, module in model.named_modules() if isinstance(module, nn.Linear) and module is not head
    ]
    heads = config.num_attention_heads
    size = getattr(config, "head_dim", None) or config.hidden_size // heads
    queries, keys = heads * size, (getattr(config, "num_key_value_heads", None) or heads) * size
    normed = queries + keys if any(name.endswith("q_norm.weight") for name in parameters) else 0
    return ModelShape(
        parameters=sum(parameter.numel() for parameter in parameters.values()),
        linear=tuple((name, layer.in_features, layer.out_features) for name, layer in layers),
        layers=config.num_hidden_layers,
        hidden=config.hidden_size,
        queries=queries,
        keys=keys,
        normed=2 * config.hidden_size + normed,
        intermediate=getattr(config, "intermediate_size", None) or 4 * config.hidden_size,
    )


def has_experts(folder: Path) -> bool:
    """Whether the config.json in `folder` describes a mixture of experts."""
    from transformers import AutoConfig

    config: Any = AutoConfig.from_pretrained(folder)
    return any(getattr(config, key, None) for key in ("num_experts", "num_local_experts", "n_routed_experts"))
