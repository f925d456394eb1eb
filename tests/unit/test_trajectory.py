"""Trajectories, and how they become micro batches."""

from __future__ import annotations

import pytest
import torch
from agnostics.train.micro_batch import Example, MicroBatch, by_size, chunks, stack
from agnostics.types.rollout import Segment, Trajectory


def _two_turns() -> Trajectory:
    """The policy speaks, a tool answers, the policy speaks again, one update later."""
    first = Segment.spoken([11, 12], [-0.1, -0.2], version=3)
    tool = Segment((21,), (0,), (0.0,), (3,))
    second = Segment.spoken([13], [-0.3], version=4)
    return Trajectory((1, 2, 3), (first, tool, second))


def test_segments_read_as_one_sequence() -> None:
    trajectory = _two_turns()
    assert trajectory.token_ids == (11, 12, 21, 13)
    assert trajectory.mask == (1, 1, 0, 1)
    assert trajectory.versions == (3, 3, 3, 4)
    assert trajectory.spoken == 3


def test_a_segment_with_a_field_too_short_is_refused() -> None:
    with pytest.raises(ValueError, match="equally long"):
        Segment((1, 2), (1, 1), (-0.5,), (0, 0))


def test_micro_batch_holds_only_what_the_policy_spoke() -> None:
    sibling = Trajectory((1, 2, 3), (Segment.spoken([5, 6, 7], [-1.0, -2.0, -3.0], version=0),))
    (batch,) = _micro_batches([Example(_two_turns(), 2.0, 0.5), Example(sibling, -1.0, 0.25)], max_tokens=100)
    assert batch.prompt.tolist() == [1, 2, 3]
    assert batch.token_ids.tolist() == [[5, 6, 7, 0], [11, 12, 21, 13]]
    assert batch.mask.tolist() == [[1, 1, 1, 0], [1, 1, 0, 1]]
    assert torch.allclose(batch.behaviour, torch.tensor([-1.0, -2.0, -3.0, -0.1, -0.2, -0.3]))
    assert batch.advantages.tolist() == [-1.0, -1.0, -1.0, 2.0, 2.0, 2.0]
    assert batch.weights.tolist() == [0.25, 0.25, 0.25, 0.5, 0.5, 0.5]


def _micro_batches(examples: list[Example], max_tokens: int) -> list[MicroBatch]:
    return list(map(stack, chunks(examples, max_tokens)))


def _example(prompt: int, size: int) -> Example:
    return Example(Trajectory((prompt,) * 3, (Segment.spoken([2] * size, [-1.0] * size, 0),)), float(size), 1.0)


def test_micro_batches_keep_every_example_and_the_limit() -> None:
    examples = [_example(prompt, size) for prompt in (1, 2) for size in range(1, 40)]
    batches = _micro_batches(examples, max_tokens=120)
    assert sorted(a for batch in batches for a in set(batch.advantages.tolist())) == sorted([*range(1, 40)] * 2)
    assert all(batch.prompt.numel() + batch.token_ids.numel() <= 120 for batch in batches)


def test_a_micro_batch_has_one_prompt() -> None:
    batches = _micro_batches([_example(1, 4), _example(2, 4), _example(1, 5)], max_tokens=1000)
    assert [(batch.prompt[0].item(), len(batch.token_ids)) for batch in batches] == [(1, 2), (2, 1)]


def test_an_example_longer_than_the_limit_goes_alone() -> None:
    shapes = [batch.token_ids.shape for batch in _micro_batches([_example(1, 50), _example(1, 50)], max_tokens=10)]
    assert shapes == [(1, 50), (1, 50)]


@pytest.mark.parametrize("ranks", [2, 3, 4])
def test_ranks_that_take_turns_get_about_as_many_tokens_each(ranks: int) -> None:
    ordered = by_size([_example(prompt, size) for prompt in range(9) for size in range(1, 40)], max_tokens=120)
    tokens = [sum(stack(chunk).token_ids.numel() for chunk in ordered[rank::ranks]) for rank in range(ranks)]
    assert max(tokens) - min(tokens) <= 120
