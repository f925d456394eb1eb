"""Low-rank adapters: small matrices A and B beside each linear layer, which are trained instead of its weight W.

The layer computes W x + s B A x, with s = alpha / rank (Hu et al. 2021, "LoRA", section 4.1). The engine and
checkpoints get the merged weight W + s B A.

In bfloat16 the steps of an adapter are smaller than the distance of two neighbours of a weight, and rounded to the
nearest, W + s B A is mostly W again. The merged weight is therefore rounded up or down at random, with the exact sum
as its expected value (Gupta et al. 2015, arXiv:1502.02551, section 3): what a layer adds up is then the adapter's step
and a noise that is smaller than the rounding of activations. The trainer has the like problem in the output of a layer.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from agnostics.inference.engine import seed_for
from agnostics.train.config import TrainConfig
from agnostics.train.snapshot import HostCopies, LaterTensor, known
from agnostics.types.errors import MissingRequirement, UsageError
from agnostics.util.text import first_line

_ADAPTER = "default"
_SEED = 0
"""A is random at first, B zero; A is the same on every rank and after every resume."""


@dataclass(frozen=True, slots=True)
class ModelWeight:
    """A weight of the model by its name in transformers' model, and its adapted layer, if any."""

    name: str
    parameter: nn.Parameter
    layer: Any = None

    @property
    def parameters(self) -> list[nn.Parameter]:
        """The parameters that `merged` reads."""
        return [self.parameter] if self.layer is None else [self.parameter, *_own(self.layer)]

    def merged(self) -> torch.Tensor:
        """W, or W + s B A if the layer is adapted, in the type of W. It is the same whenever W, A and B are."""
        weight = self.parameter.detach()
        if self.layer is None:
            return weight
        return self._plus(_delta(*_factors(self.layer)))

    def snapshot(self, copies: HostCopies) -> LaterTensor:
        """`merged` as it is now, in the host's memory. Of an adapted layer there, A and B are copied and W is not,
        because it is frozen: the sum is computed later."""
        weight = self.parameter.detach()
        on_host = weight.device.type == "cpu"
        if self.layer is None:
            return known(weight if on_host and not self.parameter.requires_grad else copies.of(weight))
        if not on_host:
            return known(self.merged().cpu())
        up, down, scaling, transposed = _factors(self.layer)
        up, down = copies.of(up), copies.of(down)
        return lambda: self._plus(_delta(up, down, scaling, transposed))

    def _plus(self, delta: torch.Tensor) -> torch.Tensor:
        """W + `delta` in the type of W."""
        weight = self.parameter.detach()
        return _rounded(weight.float() + delta, weight.dtype, seed_for(self.name))


def adapt(model: nn.Module, settings: TrainConfig) -> None:
    """Add adapters to the layers of `model` that the settings name, and freeze everything else.

    Raises UsageError if the model has no such layer, MissingRequirement without the package `peft`.
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
    for _, layer in _adapted(model):
        _round_once(layer)


def weights_of(model: nn.Module) -> Iterator[ModelWeight]:
    """Every weight of `model`, adapted or not."""
    layers = {f"{name}.base_layer.weight": layer for name, layer in _adapted(model)}
    of_adapters = {id(parameter) for layer in layers.values() for parameter in _own(layer)}
    for name, parameter in model.named_parameters():
        if id(parameter) not in of_adapters:
            yield ModelWeight(name.replace(".base_layer.", "."), parameter, layers.get(name))


def adapter_weights(model: nn.Module) -> Iterator[tuple[str, nn.Parameter]]:
    """A and B of every adapted layer of `model`, by their names in peft's format."""
    for name, layer in _adapted(model):
        yield f"base_model.model.{name}.lora_A.weight", layer.lora_A[_ADAPTER].weight
        yield f"base_model.model.{name}.lora_B.weight", layer.lora_B[_ADAPTER].weight


@contextmanager
def disabled(model: nn.Module) -> Iterator[None]:
    """A block in which the adapters of the model are disabled."""
    layers = [layer for _, layer in _adapted(model)]
    for layer in layers:
        layer.set_scale(_ADAPTER, 0.0)
    try:
        yield
    finally:
        for layer in layers:
            layer.set_scale(_ADAPTER, 1.0)


def _round_once(layer: Any) -> None:
    """Let `layer` compute W x + s B A x as one product, which is rounded once.

    peft adds s B A x to W x after that was rounded to bfloat16, and most of an adapter's first steps is lost in it. The
    modules call each other, because ZeRO stage 3 gathers the weights of a module while it is called.
    """
    if not isinstance(layer.base_layer, nn.Linear):
        return
    product: Any = _AdaptedProduct.apply
    base: Any = layer.base_layer
    down, up = layer.lora_A[_ADAPTER], layer.lora_B[_ADAPTER]
    base.forward = lambda x, low, scaled: product(x, low, base.weight, scaled, base.bias)
    up.forward = lambda x, low: base(x, low, layer.scaling[_ADAPTER] * up.weight)
    layer.forward = lambda x: up(x, down(x))


class _AdaptedProduct(torch.autograd.Function):
    """[x, A x] [W, s B]^T + bias: (..., in), (..., rank), (out, in), (out, rank), (out,) -> (..., out).

    There is no gradient for W and the bias, which are frozen.
    """

    @staticmethod
    def forward(
        ctx: Any,
        x: torch.Tensor,
        low: torch.Tensor,
        weight: torch.Tensor,
        scaled: torch.Tensor,
        bias: torch.Tensor | None,
    ) -> torch.Tensor:
        """The product."""
        ctx.save_for_backward(low, weight, scaled)
        return nn.functional.linear(torch.cat([x, low], -1), torch.cat([weight, scaled], 1), bias)

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        """The gradients of x, A x and s B."""
        low, weight, scaled = ctx.saved_tensors
        (gradient,) = gradients
        of_scaled = gradient.flatten(0, -2).T @ low.flatten(0, -2)
        return gradient @ weight, gradient @ scaled, None, of_scaled, None


def _factors(layer: Any) -> tuple[torch.Tensor, torch.Tensor, float, bool]:
    """B, A and s of an adapted layer, and whether its W is transposed."""
    up, down = layer.lora_B[_ADAPTER].weight.detach(), layer.lora_A[_ADAPTER].weight.detach()
    return up, down, layer.scaling[_ADAPTER], layer.fan_in_fan_out


def _delta(up: torch.Tensor, down: torch.Tensor, scaling: float, transposed: bool) -> torch.Tensor:
    """s B A in float32, in the shape of W."""
    product = up.float() @ down.float()
    return scaling * (product.T if transposed else product)


def _rounded(exact: torch.Tensor, dtype: torch.dtype, seed: int) -> torch.Tensor:
    """`exact`, float32, in `dtype`; bfloat16 is one of its two neighbours, with `exact` as the expected value.

    bfloat16 is the upper half of float32: random bits are added to the lower half, and what they carry is kept.
    """
    if dtype != torch.bfloat16:
        return exact.to(dtype)
    generator = torch.Generator(exact.device).manual_seed(seed)
    noise = torch.randint(1 << 16, exact.shape, generator=generator, dtype=torch.int32, device=exact.device)
    return exact.view(torch.int32).add_(noise).bitwise_and_(-1 << 16).view(torch.float32).to(dtype)


def _adapted(model: nn.Module) -> list[tuple[str, Any]]:
    return [(name, module) for name, module in model.named_modules() if hasattr(module, "lora_A")]


def _own(layer: Any) -> list[nn.Parameter]:
    """The parameters of the adapter."""
    return [*layer.lora_A.parameters(), *layer.lora_B.parameters()]
