"""How rollouts become micro batches."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from agnostics.algorithms.loss import MicroBatch, split, split_by_size, stack
from agnostics.types.rollout import Rollout, Segment
from agnostics.types.task import Task, Test

TASK = Task(id="t", tests=(Test(input="", output=""),))


def _two_turns() -> Rollout:
    """The policy writes, a tool replies, the policy writes again, one update later."""
    first = Segment.sampled([11, 12], [-0.1, -0.2], [3, 3])
    tool = Segment((21,), (0,), (0.0,), (3,))
    second = Segment.sampled([13], [-0.3], [4])
    return Rollout(
        task=TASK, sample=0, prompt_ids=(1, 2, 3), segments=(first, tool, second), advantage=2.0, loss_weight=0.5
    )


def _sibling() -> Rollout:
    segment = Segment.sampled([5, 6, 7], [-1.0, -2.0, -3.0], [0, 0, 0])
    return Rollout(task=TASK, sample=1, prompt_ids=(1, 2, 3), segments=(segment,), advantage=-1.0, loss_weight=0.25)


def test_micro_batch_holds_only_what_the_policy_sampled() -> None:
    (batch,) = _micro_batches([_two_turns(), _sibling()], max_tokens=100)
    assert batch.prompt_ids.tolist() == [1, 2, 3]
    assert batch.token_ids.tolist() == [[5, 6, 7, 0], [11, 12, 21, 13]]
    assert batch.mask.tolist() == [[1, 1, 1, 0], [1, 1, 0, 1]]
    assert torch.allclose(batch.rollout_logprobs, torch.tensor([-1.0, -2.0, -3.0, -0.1, -0.2, -0.3]))
    assert batch.policy_versions.tolist() == [0, 0, 0, 3, 3, 4]
    assert batch.advantages.tolist() == [-1.0, -1.0, -1.0, 2.0, 2.0, 2.0]
    assert batch.loss_weights.tolist() == [0.25, 0.25, 0.25, 0.5, 0.5, 0.5]


def test_old_logprobs_are_the_engines_unless_the_trainer_computed_them() -> None:
    plain, scored = _sibling(), replace(_sibling(), old_logprobs=(-1.5, -2.5, -3.5), reference_logprobs=(-4, -5, -6))
    batch = stack([plain, scored])
    assert batch.old_logprobs.tolist() == [-1.0, -2.0, -3.0, -1.5, -2.5, -3.5]
    assert batch.reference_logprobs.tolist() == [0.0, 0.0, 0.0, -4.0, -5.0, -6.0]


def test_a_rollout_that_is_left_out_of_the_loss_has_no_advantage_in_a_micro_batch() -> None:
    assert stack([replace(_sibling(), advantage=None)]).advantages.tolist() == [0.0, 0.0, 0.0]


def _micro_batches(rollouts: list[Rollout], max_tokens: int) -> list[MicroBatch]:
    return list(map(stack, split(rollouts, max_tokens)))


def _rollout(prompt: int, size: int) -> Rollout:
    segment = Segment.sampled([2] * size, [-1.0] * size, [0] * size)
    return Rollout(
        task=TASK, sample=0, prompt_ids=(prompt,) * 3, segments=(segment,), advantage=float(size), loss_weight=1.0
    )


def test_micro_batches_keep_every_rollout_and_the_limit() -> None:
    rollouts = [_rollout(prompt, size) for prompt in (1, 2) for size in range(1, 40)]
    batches = _micro_batches(rollouts, max_tokens=120)
    assert sorted(a for batch in batches for a in set(batch.advantages.tolist())) == sorted([*range(1, 40)] * 2)
    assert all(batch.prompt_ids.numel() + int(batch.mask.sum()) <= 120 for batch in batches)


def test_a_prompt_that_is_read_for_each_rollout_counts_for_each() -> None:
    rollouts = [_rollout(1, size) for size in range(1, 40)]
    chunks = list(split(rollouts, 120, prompt_once=False))
    assert sorted(rollout.num_sampled for chunk in chunks for rollout in chunk) == list(range(1, 40))
    assert all(len(chunk) * (3 + max(rollout.num_sampled for rollout in chunk)) <= 120 for chunk in chunks)


def test_a_micro_batch_has_one_prompt() -> None:
    batches = _micro_batches([_rollout(1, 4), _rollout(2, 4), _rollout(1, 5)], max_tokens=1000)
    assert [(batch.prompt_ids[0].item(), len(batch.token_ids)) for batch in batches] == [(1, 2), (2, 1)]


def test_a_rollout_longer_than_the_limit_goes_alone() -> None:
    shapes = [batch.token_ids.shape for batch in _micro_batches([_rollout(1, 50), _rollout(1, 50)], max_tokens=10)]
    assert shapes == [(1, 50), (1, 50)]


@pytest.mark.parametrize("ranks", [2, 3, 4])
def test_ranks_that_take_turns_get_about_as_many_tokens_each(ranks: int) -> None:
    ordered = split_by_size([_rollout(prompt, size) for prompt in range(9) for size in range(1, 40)], max_tokens=120)
    tokens = [sum(int(stack(chunk).mask.sum()) for chunk in ordered[rank::ranks]) for rank in range(ranks)]
    assert max(tokens) - min(tokens) <= 120
