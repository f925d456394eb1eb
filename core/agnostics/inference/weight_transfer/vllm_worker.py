"""An extension of vLLM's worker that replaces the weights of a loaded model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch


class PolicyWorker:
    """Mixed into vLLM's worker by name (`worker_extension_cls`)."""

    model_runner: Any

    def load_policy(self, weights: list[tuple[str, torch.Tensor]]) -> None:
        """Replace the weights of the loaded model by `weights`, named as in the model's folder."""
        model = self.model_runner.get_model()
        forget_expert_kernels(model)
        self.model_runner.reload_weights(weights_iterator=iter(weights))
        refresh_head(model)

    def prepare_adapter(self) -> None:
        """Compute the one adapter that is served by plain products on a CPU.

        vLLM's own operation there, meant for many adapters in a batch, copies an adapter's weights for every token.
        """
        from vllm.platforms import current_platform

        if current_platform.is_cpu():
            manager = self.model_runner.lora_manager._adapter_manager
            for wrapper in manager.punica_wrapper_mapping.values():
                wrapper.add_lora_linear = add_adapter


def add_adapter(
    y: torch.Tensor,
    x: torch.Tensor,
    lora_a_stacked: Sequence[torch.Tensor],
    lora_b_stacked: Sequence[torch.Tensor],
    scale: float,
    output_slices: Sequence[int],
    **_: Any,
) -> None:
    """Add s B A x to `y` for each slice of a layer: x (T, in), y (T, out), A (1, 1, rank, in), B (1, 1, slice, rank).

    A signature of vLLM's: its `PunicaWrapperBase.add_lora_linear`. The scale of an adapter is in B already.
    """
    start = 0
    for width, down, up in zip(output_slices, lora_a_stacked, lora_b_stacked, strict=True):
        low = x.float() @ down[0, 0].float().T
        y[:, start : start + width] += scale * (low @ up[0, 0].float().T)
        start += width


def forget_expert_kernels(model: Any) -> None:
    """Let a reload on a CPU pack the experts of `model` again; called before it.

    On a CPU the experts compute from a packed layout, and vLLM packs them only while a layer has no kernel yet: a
    reload would leave plain weights where packed ones are read, without an error.
    """
    from vllm.platforms import current_platform

    if not current_platform.is_cpu():  # elsewhere CUDA graphs hold on to the kernel, and nothing is packed with it
        return
    for layer in model.modules():
        if getattr(getattr(layer, "quant_method", None), "moe_kernel", None) is not None:
            layer.quant_method.moe_kernel = None


def refresh_head(model: Any) -> None:
    """Refresh the head of `model` after its weights were replaced.

    On a CPU it computes from a packed copy. With tied embeddings a reload replaces the embedding alone, and the copy
    becomes stale without an error: log-probabilities drift while every shape and name stays correct.
    """
    model.lm_head.quant_method.process_weights_after_loading(model.lm_head)
