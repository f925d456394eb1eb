"""Micro batches: rollouts with one prompt as tensors."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields

import torch

from agnostics.types.rollout import Rollout


@dataclass(frozen=True, slots=True)
class MicroBatch:
    """Rollouts with one prompt, side by side: `prompt_ids` is (P,), `token_ids` and `mask` follow it, (B, L).

    Rows are padded on the right. The other fields hold one entry for each of the N tokens that the policy sampled, row
    by row: (N,) float32. `rollout_logprobs` are the engine's, `old_logprobs` those of the importance ratio's
    denominator, `reference_logprobs` zero without a reference model.
    """

    prompt_ids: torch.Tensor
    token_ids: torch.Tensor
    mask: torch.Tensor
    rollout_logprobs: torch.Tensor
    old_logprobs: torch.Tensor
    reference_logprobs: torch.Tensor
    policy_versions: torch.Tensor
    advantages: torch.Tensor
    loss_weights: torch.Tensor

    def to(self, device: torch.device) -> MicroBatch:
        """The same on `device`."""
        return MicroBatch(*(getattr(self, field.name).to(device) for field in fields(self)))


def stack(rollouts: Sequence[Rollout]) -> MicroBatch:
    """Rollouts with one prompt as one micro batch. An advantage of None counts as 0."""
    tokens = [rollout.token_ids for rollout in rollouts]
    token_ids = torch.zeros(len(rollouts), max(map(len, tokens)), dtype=torch.long)
    mask = torch.zeros_like(token_ids)
    for row, (rollout, ids) in enumerate(zip(rollouts, tokens, strict=True)):
        token_ids[row, : len(ids)] = torch.tensor(ids)
        mask[row, : len(ids)] = torch.tensor(rollout.mask)
    prompt_ids = torch.tensor(rollouts[0].prompt_ids)
    columns = torch.tensor([entry for rollout in rollouts for entry in _per_token(rollout)], dtype=torch.float32)
    return MicroBatch(prompt_ids, token_ids, mask, *columns.reshape(-1, 6).T.contiguous())


def split_by_size(rollouts: Sequence[Rollout], max_tokens: int, *, prompt_once: bool = True) -> list[list[Rollout]]:
    """The rollouts of each micro batch, the largest first: ranks that take turns get about as many tokens each."""
    return sorted(split(rollouts, max_tokens, prompt_once=prompt_once), key=_num_tokens, reverse=True)


def split(rollouts: Sequence[Rollout], max_tokens: int, *, prompt_once: bool = True) -> Iterator[list[Rollout]]:
    """The rollouts by prompt and length, at most `max_tokens` tokens with padding (or one rollout) at a time.

    The prompt counts once for all its rollouts, or for each of them.
    """
    by_prompt = defaultdict[tuple[int, ...], list[Rollout]](list)
    for rollout in rollouts:
        by_prompt[rollout.prompt_ids].append(rollout)
    for prompt, group in by_prompt.items():
        once, each = (len(prompt), 0) if prompt_once else (0, len(prompt))
        yield from _split_group(sorted(group, key=_length), max_tokens - once, each)


def _split_group(rollouts: Sequence[Rollout], max_tokens: int, extra: int) -> Iterator[list[Rollout]]:
    """Rollouts sorted by length, each with `extra` tokens, as many at a time as `max_tokens` allows."""
    chosen: list[Rollout] = []
    for rollout in rollouts:
        if chosen and (len(chosen) + 1) * (_length(rollout) + extra) > max_tokens:
            yield chosen
            chosen = []
        chosen.append(rollout)
    yield chosen


def _num_tokens(rollouts: Sequence[Rollout]) -> int:
    return len(rollouts[0].prompt_ids) + len(rollouts) * max(map(_length, rollouts))


def _length(rollout: Rollout) -> int:
    return sum(len(segment.token_ids) for segment in rollout.segments)


def _per_token(rollout: Rollout) -> Iterator[tuple[float, ...]]:
    """The last six fields of a micro batch for each token that the policy sampled."""
    logprobs = rollout.sampled_logprobs
    old, reference = rollout.old_logprobs or logprobs, rollout.reference_logprobs or [0.0] * len(logprobs)
    for columns in zip(logprobs, old, reference, rollout.sampled_versions, strict=True):
        yield *columns, rollout.advantage or 0.0, rollout.loss_weight
