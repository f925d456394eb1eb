"""Attention in a group: completions of one prompt, packed behind it in one row, that do not see each other.

The row holds the prompt and then the completions without padding, so that every other layer computes each token once;
only attention puts the completions side by side, padded.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.nn.utils.rnn import pad_sequence
from transformers import AttentionInterface
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import AttentionMaskInterface, sdpa_mask

_NAME = "agnostics_shared_prompt"
_LAYER_TYPES = {"full_attention", "sliding_attention"}


@dataclass(frozen=True, slots=True)
class PackedGroup:
    """The layout of a row: `prompt_length` tokens of the prompt, then `lengths` tokens of each completion."""

    prompt_length: int
    lengths: Sequence[int]

    @property
    def width(self) -> int:
        """The longest completion's length."""
        return max(self.lengths)

    def position_ids(self, device: torch.device) -> torch.Tensor:
        """The position of each token of the row in its own sequence: (S,)."""
        starts = [(0, self.prompt_length), *((self.prompt_length, length) for length in self.lengths)]
        return torch.cat([torch.arange(start, start + length, device=device) for start, length in starts])

    def rows(self, states: torch.Tensor) -> torch.Tensor:
        """The completions of `states`, (S, ...), side by side: (B, width, ...), zero in the padding."""
        parts = torch.split(states[self.prompt_length :], list(self.lengths))
        return pad_sequence(list(parts), batch_first=True)

    def joined(self, prompt: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
        """The row of `prompt`, (1, P, ...), and of completions side by side, (B, width, ...), without padding."""
        completions = [row[:length] for row, length in zip(rows, self.lengths, strict=True)]
        return torch.cat([prompt[0], *completions]).unsqueeze(0)


def share_prompts(model: Any) -> bool:
    """Give `model` this attention, for forward passes with the keyword `group`; whether it could be done.

    It can be for models with transformers' attention interface, all of whose layers are attention.
    """
    config = model.config.get_text_config()
    layers = set(getattr(config, "layer_types", None) or ["full_attention"])
    if not (model._supports_attention_backend and config._attn_implementation == "sdpa" and layers <= _LAYER_TYPES):
        return False
    AttentionInterface.register(_NAME, _attention)
    AttentionMaskInterface.register(_NAME, sdpa_mask)
    model.set_attn_implementation(_NAME)
    return True


def group_inputs(group: PackedGroup, device: torch.device) -> dict[str, Any]:
    """The keywords of a forward pass over one row. A mask of four dimensions is handed on as it is: none is built."""
    return {
        "position_ids": group.position_ids(device).unsqueeze(0),
        "attention_mask": torch.empty(1, 1, 1, 1, dtype=torch.bool, device=device),
        "use_cache": False,
        "group": group,
    }


def _attention(
    module: Any,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    *,
    group: PackedGroup | None = None,
    sliding_window: int | None = None,
    **options: Any,
) -> tuple[torch.Tensor, None]:
    """transformers' attention; in a `group` the prompt's, and each completion's after the prompt."""
    if group is None:
        return sdpa_attention_forward(module, query, key, value, attention_mask, **options)
    size, width = group.prompt_length, group.width
    start = [states[:, :, :size] for states in (query, key, value)]
    near = None if sliding_window is None or sliding_window >= size else _visible(size, 0, sliding_window, key.device)
    prompt, _ = sdpa_attention_forward(module, *start, near, **options)
    if not width:
        return prompt, None
    queries, keys, values = (group.rows(states[0].transpose(0, 1)).transpose(1, 2) for states in (query, key, value))
    keys, values = (
        torch.cat([prefix.expand(len(keys), -1, -1, -1), states], dim=2)
        for prefix, states in ((start[1], keys), (start[2], values))
    )
    mask = _visible(width, size, sliding_window, key.device)
    completions, _ = sdpa_attention_forward(module, queries, keys, values, mask, **options)
    return group.joined(prompt, completions), None


def _visible(queries: int, before: int, sliding_window: int | None, device: torch.device) -> torch.Tensor:
    """Which of `before` + `queries` keys each of the last `queries` tokens sees: (1, 1, queries, keys), bool."""
    distance = torch.arange(before, before + queries, device=device).unsqueeze(1) - torch.arange(
        before + queries, device=device
    )
    visible = distance >= 0
    if sliding_window is not None:
        visible &= distance < sliding_window
    return visible[None, None]
