"""The floating point operations that it takes to train a model: those of its layers, and those of its attention."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

_PER_PARAMETER = 6
_PER_WIDTH = 6


@dataclass(frozen=True, slots=True)
class TrainingFlop:
    """Floating point operations of training on documents, with a causal decoder of `layers` layers.

    `parameters` leaves out the embeddings and the head; `width` is that of all attention heads of a layer together, the
    hidden dimension in most models.

    A linear layer takes 2 operations per weight and token in the forward pass, a multiplication and an addition, and
    twice as many in the backward pass, for the gradients of weights and of inputs: 6·N per token. Of a document of L
    tokens, QKᵀ and the product with V take 2·L²·d each in the forward pass and twice as many in the backward pass, in
    all 12·L²·d for each layer; half of them is above the diagonal, which causal attention does not need, which leaves
    6·L·d per token. Together, per token:

        6·N + 6·layers·d·L

    This is equation 1 of the code world model's paper, derived in its section 14.1. With N = 12·layers·d² it is
    72·layers·d² + 6·layers·d·L; equation 2 of Bi et al. 2024 (DeepSeek LLM) has 12·layers·d·L, because attention is not
    halved there. A mixture of experts is counted with all experts, and adapters (LoRA) as if all weights were trained.
    """

    parameters: int
    layers: int
    width: int

    def of_document(self, tokens: int) -> float:
        """The operations of a forward and a backward pass of a document of `tokens` tokens."""
        return self.per_token(tokens) * tokens

    def per_token(self, tokens: int) -> float:
        """The operations of a token of a document of `tokens` tokens, on average."""
        return float(_PER_PARAMETER * self.parameters + _PER_WIDTH * self.layers * self.width * tokens)


def training_flop(folder: Path) -> TrainingFlop:
    """The cost of training the model that the config.json in `folder` describes, which is built without memory.

    A model without attention heads has a `width` of 0.
    """
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM

    whole: Any = AutoConfig.from_pretrained(folder)
    with torch.device("meta"):
        model: Any = AutoModelForCausalLM.from_config(whole)
    config = whole.get_text_config()
    heads = getattr(config, "num_attention_heads", None) or 0
    size = getattr(config, "head_dim", None) or (config.hidden_size // heads if heads else 0)
    parameters = sum(weights.numel() for weights in model.parameters())
    return TrainingFlop(parameters - _embedded(model), config.num_hidden_layers, heads * size)


def _embedded(model: Any) -> int:
    """The parameters of the embeddings and of the head, once if they are the same."""
    ends = (model.get_input_embeddings(), model.get_output_embeddings())
    weights = {id(end.weight): end.weight.numel() for end in ends if end is not None}
    return sum(weights.values())
