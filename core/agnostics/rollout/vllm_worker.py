"""What vLLM's worker learns from us: to take new weights and really use all of them."""

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
        head = self.model_runner.get_model().lm_head
        # On a CPU the head computes from a packed copy. With tied embeddings reloading renews the embedding alone, and
        # the copy goes stale without a word: log-probabilities drift while every shape and name stays right.
        head.quant_method.process_weights_after_loading(head)
