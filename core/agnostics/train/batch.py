"""From trajectories to tensors: what one update learns from, in micro batches of one prompt."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields

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
    """Examples with one prompt, side by side: `prompt` is (P,), `token_ids` and `mask` are what follows it, (B, L).

    Rows are padded on the right. The other fields hold one entry for each of the N tokens that the policy spoke, row by
    row: (N,) float32.
    """

    prompt: torch.Tensor
    token_ids: torch.Tensor
    mask: torch.Tensor
    behaviour: torch.Tensor
    advantages: torch.Tensor
    weights: torch.Tensor

    def to(self, device: torch.device) -> MicroBatch:
        """The same on `device`."""
        return MicroBatch(*(getattr(self, field.name).to(device) for field in fields(self)))


def micro_batches(examples: Sequence[Example], max_tokens: int) -> Iterator[MicroBatch]:
    """The examples, by prompt and length, at most `max_tokens` tokens with padding (or one example) at a time."""
    by_prompt = defaultdict[tuple[int, ...], list[Example]](list)
    for example in examples:
        by_prompt[example.trajectory.prompt].append(example)
    for prompt, siblings in by_prompt.items():
        yield from _chunks(sorted(siblings, key=_length), max_tokens - len(prompt))


def _chunks(examples: Sequence[Example], max_tokens: int) -> Iterator[MicroBatch]:
    """The examples, which are sorted by length, stacked as many at a time as `max_tokens` allows."""
    chosen: list[Example] = []
    for example in examples:
        if chosen and (len(chosen) + 1) * _length(example) > max_tokens:
            yield _stack(chosen)
            chosen = []
        chosen.append(example)
    yield _stack(chosen)


def _length(example: Example) -> int:
    return len(example.trajectory.token_ids)


def _stack(examples: Sequence[Example]) -> MicroBatch:
    width = max(map(_length, examples))
    token_ids = torch.zeros(len(examples), width, dtype=torch.long)
    mask = torch.zeros(len(examples), width, dtype=torch.long)
    behaviour, advantages, weights = list[float](), list[float](), list[float]()
    for row, example in enumerate(examples):
        trajectory = example.trajectory
        token_ids[row, : _length(example)] = torch.tensor(trajectory.token_ids)
        mask[row, : _length(example)] = torch.tensor(trajectory.mask)
        spoken = [value for value, bit in zip(trajectory.logprobs, trajectory.mask, strict=True) if bit]
        behaviour += spoken
        advantages += [example.advantage] * len(spoken)
        weights += [example.weight] * len(spoken)
    prompt = torch.tensor(examples[0].trajectory.prompt)
    return MicroBatch(prompt, token_ids, mask, *map(torch.tensor, (behaviour, advantages, weights)))
