"""From trajectories to tensors: what one update learns from, in micro batches of one prompt."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields

import torch

from agnostics.types.rollout import Trajectory


@dataclass(frozen=True, slots=True)
class Example:
    """A trajectory, its advantage, and what each of its tokens weighs in the loss.

    For each of the tokens that the policy spoke, `old` are the trainer's log-probabilities before its first update on
    the batch (the engine's where None), and `reference` those of the model that the run began with.
    """

    trajectory: Trajectory
    advantage: float
    weight: float
    old: tuple[float, ...] | None = None
    reference: tuple[float, ...] | None = None


@dataclass(frozen=True, slots=True)
class MicroBatch:
    """Examples with one prompt, side by side: `prompt` is (P,), `token_ids` and `mask` are what follows it, (B, L).

    Rows are padded on the right. The other fields hold one entry for each of the N tokens that the policy spoke, row by
    row: (N,) float32. The log-probabilities are the engine's (`behaviour`), those that the importance ratio is against
    (`old`), and the reference model's, zero where there is none; `versions` are those of the policy that sampled.
    """

    prompt: torch.Tensor
    token_ids: torch.Tensor
    mask: torch.Tensor
    behaviour: torch.Tensor
    old: torch.Tensor
    reference: torch.Tensor
    versions: torch.Tensor
    advantages: torch.Tensor
    weights: torch.Tensor

    def to(self, device: torch.device) -> MicroBatch:
        """The same on `device`."""
        return MicroBatch(*(getattr(self, field.name).to(device) for field in fields(self)))


def by_size(examples: Sequence[Example], max_tokens: int, *, prompt_once: bool = True) -> list[list[Example]]:
    """The `chunks` of the examples, the largest first: ranks that take turns get about as many tokens each."""
    return sorted(chunks(examples, max_tokens, prompt_once=prompt_once), key=_tokens, reverse=True)


def _tokens(chunk: Sequence[Example]) -> int:
    return len(chunk[0].trajectory.prompt) + len(chunk) * max(map(_length, chunk))


def chunks(examples: Sequence[Example], max_tokens: int, *, prompt_once: bool = True) -> Iterator[list[Example]]:
    """The examples, by prompt and length, at most `max_tokens` tokens with padding (or one example) at a time.

    The prompt counts once for all its answers, or for each of them.
    """
    by_prompt = defaultdict[tuple[int, ...], list[Example]](list)
    for example in examples:
        by_prompt[example.trajectory.prompt].append(example)
    for prompt, siblings in by_prompt.items():
        once, each = (len(prompt), 0) if prompt_once else (0, len(prompt))
        yield from _split(sorted(siblings, key=_length), max_tokens - once, each)


def _split(examples: Sequence[Example], max_tokens: int, extra: int) -> Iterator[list[Example]]:
    """The examples, which are sorted by length, each with `extra` tokens, as many at a time as `max_tokens` allows."""
    chosen: list[Example] = []
    for example in examples:
        if chosen and (len(chosen) + 1) * (_length(example) + extra) > max_tokens:
            yield chosen
            chosen = []
        chosen.append(example)
    yield chosen


def _length(example: Example) -> int:
    return len(example.trajectory.token_ids)


def stack(examples: Sequence[Example]) -> MicroBatch:
    """Examples with one prompt as one micro batch."""
    width = max(map(_length, examples))
    token_ids = torch.zeros(len(examples), width, dtype=torch.long)
    mask = torch.zeros(len(examples), width, dtype=torch.long)
    for row, example in enumerate(examples):
        token_ids[row, : _length(example)] = torch.tensor(example.trajectory.token_ids)
        mask[row, : _length(example)] = torch.tensor(example.trajectory.mask)
    prompt = torch.tensor(examples[0].trajectory.prompt)
    rows = torch.tensor([row for example in examples for row in _rows(example)], dtype=torch.float32)
    return MicroBatch(prompt, token_ids, mask, *rows.reshape(-1, 6).T.contiguous())


def spoken_logprobs(trajectory: Trajectory) -> list[float]:
    """The log-probabilities, when they were sampled, of the N tokens that the policy spoke: (N,)."""
    return [value for value, bit in zip(trajectory.logprobs, trajectory.mask, strict=True) if bit]


def _rows(example: Example) -> Iterator[tuple[float, ...]]:
    """(behaviour, old, reference, version, advantage, weight) of each token that the policy spoke."""
    spoken, versions = spoken_logprobs(example.trajectory), example.trajectory.spoken_versions
    reference = example.reference or [0.0] * len(spoken)
    for behaviour, old, other, version in zip(spoken, example.old or spoken, reference, versions, strict=True):
        yield behaviour, old, other, version, example.advantage, example.weight
