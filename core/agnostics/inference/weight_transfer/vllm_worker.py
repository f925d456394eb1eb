"""An extension of vLLM's worker that replaces the weights of a loaded model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch


class PolicyWorker:
    """Mixed into vLLM's worker by name (`worker_extension_cls`)."""

    model_runner: Any

    def load_policy(self, weights: list[tuple[str, torch.Tensor]]) -> None:
        """Replace the weights of the loaded model by `weights`, named as in the model's folder."""
        self.model_runner.reload_weights(weights_iterator=iter(weights))
        refresh_head(self.model_runner.get_model())


def refresh_head(model: Any) -> None:
    """Have the head of `model` compute from its new weights.

    On a CPU it computes from a packed copy. With tied embeddings reloading renews the embedding alone, and the copy
    goes stale without a word: log-probabilities drift while every shape and name stays right.
    """
    model.lm_head.quant_method.process_weights_after_loading(model.lm_head)
