"""Log-probabilities and entropies of given tokens, without ever holding all logits."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint
from transformers.modeling_layers import GradientCheckpointingLayer

from agnostics.types.errors import UsageError

LOGITS_PER_CHUNK = 1 << 26
"""The most logits that exist at one time: 256 MiB in float32."""


class TokenLogprobModel(nn.Module):
    """A causal language model that returns log-probabilities of tokens instead of logits.

    With a large vocabulary the logits of a batch, (B, L, V), outweigh the model, so the head computes only the masked
    positions, in chunks, and each chunk's logits are recomputed in the backward pass, unless one chunk holds them all.
    Models that change their logits after the head (soft-capping) are not supported; the log-probability mismatch with
    the engine would show it.

    With `recompute`, a layer's activations are recomputed in the backward pass. A prompt is then prefilled for each of
    its completions, because shared keys and values cannot be recomputed.

    With `entropy_gradient` the entropies have a gradient, for an entropy term of the loss.
    """

    def __init__(
        self, model: Any, temperature: float, *, recompute: bool = False, entropy_gradient: bool = False
    ) -> None:
        super().__init__()
        self.model = model
        self._temperature = temperature
        self._recompute = recompute
        self._entropy_gradient = entropy_gradient
        if recompute:
            _recompute_layers(model)
        head = model.get_output_embeddings()
        self._logits = head.forward
        # ZeRO stage 3 gathers the head's weight on all ranks for each call: one call for all chunks.
        head.forward = self._score

    def forward(
        self,
        prompt: torch.Tensor,
        token_ids: torch.Tensor,
        mask: torch.Tensor,
        position_ids: torch.Tensor | None = None,
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """The log-probabilities of the N masked tokens, row by row, and the entropies of their distributions,
        -sum p log p at the sampling temperature: (N,) float32 each.

        `prompt` is (P,), and `token_ids` and `mask`, (B, L) padded on the right, follow it in each row. No attention
        mask is needed: a token never attends to later ones.

        With `position_ids`, (B, L), each row holds documents one after another and `prompt` is not used: positions
        start again at 0 with each document, whose first token is not masked, and a token attends to its document alone.
        """
        wanted = mask.bool()
        if position_ids is not None:
            before = self._before_packed(token_ids, position_ids)
        else:
            before = self._before_each(prompt, token_ids) if self._recompute else self._before_all(prompt, token_ids)
        scores: tuple[torch.Tensor, torch.Tensor] = self.model.get_output_embeddings()(
            before[wanted], token_ids[wanted]
        )
        return scores

    def _before_each(self, prompt: torch.Tensor, token_ids: torch.Tensor) -> torch.Tensor:
        """The hidden states that predict each of `token_ids`, with the prompt in each row: (B, L, H)."""
        whole = torch.cat([prompt.expand(len(token_ids), -1), token_ids], dim=1)
        hidden: torch.Tensor = self.model.base_model(input_ids=whole, use_cache=False).last_hidden_state
        return hidden[:, len(prompt) - 1 : -1]

    def _before_packed(self, token_ids: torch.Tensor, position_ids: torch.Tensor) -> torch.Tensor:
        """The same in rows of documents: transformers makes block-diagonal attention of positions that start again."""
        states = self.model.base_model(input_ids=token_ids, position_ids=position_ids, use_cache=False)
        hidden: torch.Tensor = states.last_hidden_state
        return torch.cat([hidden[:, :1], hidden[:, :-1]], dim=1)

    def _before_all(self, prompt: torch.Tensor, token_ids: torch.Tensor) -> torch.Tensor:
        """The same with the prompt prefilled once: a group costs little more than its completions."""
        rows, width = token_ids.shape
        start = self.model.base_model(input_ids=prompt.unsqueeze(0), use_cache=True)
        cache = start.past_key_values
        cache.batch_repeat_interleave(rows)
        positions = torch.arange(len(prompt), len(prompt) + width, device=prompt.device).expand(rows, width)
        rest = self.model.base_model(input_ids=token_ids, position_ids=positions, past_key_values=cache)
        first = start.last_hidden_state[:, -1:].expand(rows, -1, -1)
        return torch.cat([first, rest.last_hidden_state[:, :-1]], dim=1)

    def _score(self, hidden: torch.Tensor, targets: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """The head's results: (N, hidden size), (N,) -> (N,), (N,)"""
        size = max(1, LOGITS_PER_CHUNK // self.model.config.vocab_size)
        if len(targets) <= size:
            return self._chunk(hidden, targets)
        parts = zip(torch.split(hidden, size), torch.split(targets, size), strict=True)
        scores = [checkpoint(self._chunk, *part, use_reentrant=False) for part in parts]
        logprobs, entropies = zip(*scores, strict=True)
        return torch.cat(logprobs), torch.cat(entropies)

    def _chunk(self, hidden: torch.Tensor, targets: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        logits: torch.Tensor = self._logits(hidden).float() / self._temperature
        total = logits.logsumexp(-1)
        logprobs = logits.gather(-1, targets.unsqueeze(-1)).squeeze(-1) - total
        if self._entropy_gradient:
            return logprobs, total - ((logits - total.unsqueeze(-1)).exp() * logits).sum(-1)
        with torch.no_grad():  # last, so that recomputation skips it
            probabilities = (logits - total.unsqueeze(-1)).exp_()
            entropies = total - probabilities.mul_(logits).sum(-1)
        return logprobs, entropies


def _recompute_layers(model: Any) -> None:
    """Raises UsageError if the model's layers cannot be recomputed."""
    try:
        model.gradient_checkpointing_enable({"use_reentrant": False})
    except ValueError as error:
        raise UsageError(f"{error} Set train.activation_checkpointing = false") from error
    for module in model.modules():
        if isinstance(module, GradientCheckpointingLayer):
            module.training = True  # transformers needs it; of this module alone, so that dropout stays off
