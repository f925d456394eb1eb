"""Low-rank adapters: small matrices A and B beside each linear layer, which are trained in place of its weight W.

The layer computes W x + s B A x, with s = alpha / rank (Hu et al. 2021, "LoRA", section 4.1). Whoever else wants the
weights, the engine and a checkpoint, is given W + s B A.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from agnostics.train.config import TrainConfig
from agnostics.types.errors import MissingRequirement, UsageError
from agnostics.util.text import first_line

_ADAPTER = "default"
_SEED = 0
"""A starts at random, B at zero; the same A for every rank and every resume."""


@dataclass(frozen=True, slots=True)
class Weight:
    """One weight of the model by its name in the model's folder, and the adapted layer that it belongs to, if any."""

    name: str
    parameter: nn.Parameter
    layer: Any = None

    @property
    def parameters(self) -> list[nn.Parameter]:
        """The parameters that `merged` reads."""
        return [self.parameter] if self.layer is None else [self.parameter, *_own(self.layer)]

    def merged(self) -> torch.Tensor:
        """W, or W + s B A where the layer is adapted."""
        weight = self.parameter.detach()
        return weight if self.layer is None else weight + self.layer.get_delta_weight(_ADAPTER).detach()


def adapt(model: nn.Module, settings: TrainConfig) -> None:
    """Put adapters into the layers of `model` that the settings name, and freeze everything else.

    Raises UsageError where the model has no such layer, MissingRequirement without the package `peft`.
    """
    try:
        from peft import LoraConfig, inject_adapter_in_model
    except ImportError as error:
        raise MissingRequirement(f"peft cannot be imported ({error}); run: pip install 'agnostics[train]'") from error
    modules = (
        settings.lora_target_modules
        if isinstance(settings.lora_target_modules, str)
        else list(settings.lora_target_modules)
    )
    config = LoraConfig(r=settings.lora_rank, lora_alpha=settings.lora_alpha, target_modules=modules)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(_SEED)
        try:
            inject_adapter_in_model(config, model, adapter_name=_ADAPTER)
        except ValueError as error:
            raise UsageError(
                f"train.lora_target_modules = {settings.lora_target_modules!r}: {first_line(error)}"
            ) from error


def weights_of(model: nn.Module) -> Iterator[Weight]:
    """Every weight of `model`, adapted or not."""
    layers = {f"{name}.base_layer.weight": layer for name, layer in _adapted(model)}
    ours = {id(parameter) for layer in layers.values() for parameter in _own(layer)}
    for name, parameter in model.named_parameters():
        if id(parameter) not in ours:
            yield Weight(name.replace(".base_layer.", "."), parameter, layers.get(name))


@contextmanager
def switched_off(model: nn.Module) -> Iterator[None]:
    """A block in which the model is what it was before it was adapted."""
    layers = [layer for _, layer in _adapted(model)]
    for layer in layers:
        layer.set_scale(_ADAPTER, 0.0)
    try:
        yield
    finally:
        for layer in layers:
            layer.set_scale(_ADAPTER, 1.0)


def _adapted(model: nn.Module) -> list[tuple[str, Any]]:
    return [(name, module) for name, module in model.named_modules() if hasattr(module, "lora_A")]


def _own(layer: Any) -> list[nn.Parameter]:
    """The adapter's own parameters."""
    return [*layer.lora_A.parameters(), *layer.lora_B.parameters()]
