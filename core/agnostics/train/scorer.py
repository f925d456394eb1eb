"""Log-probabilities of given tokens, without ever holding all the logits."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

LOGITS_AT_ONCE = 1 << 26
"""How many logits may exist at one time: 256 MiB in float32."""


class TokenScorer(nn.Module):
    """A causal language model that answers with the log-probabilities of tokens instead of logits.

    The logits of a batch, (B, L, V), outweigh the model where the vocabulary is large, so the head runs over the
    positions asked for only, in chunks, and each chunk's logits are computed again in the backward pass. Models that
    change their logits after the head (soft-capping) are not supported; the gap to the engine would show it.
    """

    def __init__(self, model: Any, temperature: float) -> None:
        super().__init__()
        self.model = model
        self._temperature = temperature

    def forward(self, prompt: torch.Tensor, token_ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """The log-probabilities of the tokens where `mask` is 1, row by row: (N,) float32.

        `prompt` (P,) is read once, and `token_ids` and `mask`, (B, L) padded on the right, are what follows it in each
        row: a group of answers to one prompt costs little more than the answers. No attention mask is needed: a token
        never attends to what comes after it.
        """
        rows, width = token_ids.shape
        start = self.model.base_model(input_ids=prompt.unsqueeze(0), use_cache=True)
        cache = start.past_key_values
        cache.batch_repeat_interleave(rows)
        positions = torch.arange(len(prompt), len(prompt) + width, device=prompt.device).expand(rows, width)
        rest = self.model.base_model(input_ids=token_ids, position_ids=positions, past_key_values=cache)
        first = start.last_hidden_state[:, -1:].expand(rows, -1, -1)
        before = torch.cat([first, rest.last_hidden_state[:, :-1]], dim=1)
        wanted = mask.bool()
        return self._score(before[wanted], token_ids[wanted])

    def _score(self, hidden: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        """(N, hidden size), (N,) -> (N,)"""
        head = self.model.get_output_embeddings()
        size = max(1, LOGITS_AT_ONCE // self.model.config.vocab_size)
        parts = zip(torch.split(hidden, size), torch.split(targets, size), strict=True)
        scores = [checkpoint(self._chunk, head, h, t, use_reentrant=False) for h, t in parts]
        return torch.cat(scores)

    def _chunk(self, head: nn.Module, hidden: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        logits: torch.Tensor = head(hidden).float() / self._temperature
        chosen = logits.gather(-1, targets.unsqueeze(-1)).squeeze(-1)
        return chosen - logits.logsumexp(-1)
