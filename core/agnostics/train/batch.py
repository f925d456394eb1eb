"""From trajectories to tensors: what one update learns from, in micro batches of like lengths."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch

from agnostics.trajectory import Trajectory


@dataclass(frozen=True, slots=True)
class Example:
    """A trajectory, its advantage, and what each of its tokens weighs in the loss."""

    trajectory: Trajectory
    advantage: float
    weight: float


@dataclass(frozen=True, slots=True)
class MicroBatch:
    """Examples side by side: `token_ids` and `mask` are (B, L), padded on the right.

    The others hold one entry for each of the N tokens that the policy spoke, row by row: (N,) float32.
    """

    token_ids: torch.Tensor
    mask: torch.Tensor
    behaviour: torch.Tensor
    advantages: torch.Tensor
    weights: torch.Tensor

    def to(self, device: torch.device) -> MicroBatch:
        """The same on `device`."""
        fields = (self.token_ids, self.mask, self.behaviour, self.advantages, self.weights)
        return MicroBatch(*(field.to(device) for field in fields))


def micro_batches(examples: Sequence[Example], max_tokens: int) -> Iterator[MicroBatch]:
    """The examples, sorted by length, in batches of at most `max_tokens` tokens with padding (or of one example)."""
    chosen: list[Example] = []
    for example in sorted(examples, key=lambda e: _length(e.trajectory)):
        if chosen and (len(chosen) + 1) * _length(example.trajectory) > max_tokens:
            yield _stack(chosen)
            chosen = []
        chosen.append(example)
    if chosen:
        yield _stack(chosen)


def _length(trajectory: Trajectory) -> int:
    return len(trajectory.prompt) + len(trajectory.token_ids)


def _stack(examples: Sequence[Example]) -> MicroBatch:
    width = max(_length(example.trajectory) for example in examples)
    token_ids = torch.zeros(len(examples), width, dtype=torch.long)
    mask = torch.zeros(len(examples), width, dtype=torch.long)
    behaviour, advantages, weights = list[float](), list[float](), list[float]()
    for row, example in enumerate(examples):
        trajectory, start = example.trajectory, len(example.trajectory.prompt)
        tokens = trajectory.token_ids
        token_ids[row, : start + len(tokens)] = torch.tensor(trajectory.prompt + tokens)
        mask[row, start : start + len(tokens)] = torch.tensor(trajectory.mask)
        spoken = [value for value, bit in zip(trajectory.logprobs, trajectory.mask, strict=True) if bit]
        behaviour += spoken
        advantages += [example.advantage] * len(spoken)
        weights += [example.weight] * len(spoken)
    return MicroBatch(token_ids, mask, *map(torch.tensor, (behaviour, advantages, weights)))
