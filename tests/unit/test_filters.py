"""What is left out of the loss: groups without signal, stale rollouts, gibberish; and batches by tokens."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from agnostics.algorithms.scoring import batches_by_tokens, full_batch, is_gibberish, is_stale, is_zero_variance
from agnostics.types.rollout import Rollout, Segment
from agnostics.types.task import Task, Test
from hypothesis import given
from hypothesis import strategies as st

VOCABULARY = 1000
UNLIKELY = -math.log(VOCABULARY) - 2.0


def _rollout(*segments: Segment) -> Rollout:
    return Rollout(
        task=Task(id="t", tests=(Test(input="", output=""),)), sample=0, prompt_ids=(1, 2), segments=segments
    )


def _sampled(tokens: list[int], logprobs: list[float], version: int = 0) -> Segment:
    return Segment.sampled(tokens, logprobs, [version] * len(tokens))


@pytest.mark.parametrize(
    ("rewards", "expected"),
    [
        ([1.0, 0.0, 0.0], False),
        ([0.0, 0.0], True),
        ([1.0, 1.0], True),
        ([1.0, None, 1.0], True),
        ([None, None], True),
        ([0.5, None, 0.25], False),
    ],
)
def test_a_group_has_zero_variance_where_its_rewards_are_equal(rewards: list[float | None], expected: bool) -> None:
    group = [replace(_rollout(), task_reward=reward) for reward in rewards]
    assert is_zero_variance(group) is expected


@pytest.mark.parametrize(
    ("token", "logprob", "expected"),
    [(751, UNLIKELY - 0.1, True), (751, UNLIKELY + 0.1, False), (749, UNLIKELY - 5, False), (749, -0.1, False)],
)
def test_gibberish_is_a_token_both_rare_and_unlikely(token: int, logprob: float, expected: bool) -> None:
    assert is_gibberish(_rollout(_sampled([5, token, 6], [-0.1, logprob, -0.2])), VOCABULARY) is expected


def test_a_token_that_a_tool_wrote_is_no_gibberish() -> None:
    tool = Segment((999,), (0,), (-99.0,), (0,))
    assert not is_gibberish(_rollout(_sampled([5], [-0.1]), tool), VOCABULARY)


@pytest.mark.parametrize(("version", "expected"), [(7, False), (10, False), (11, True)])
def test_a_rollout_is_as_old_as_the_oldest_token_that_the_policy_sampled(version: int, expected: bool) -> None:
    tool = Segment((9,), (0,), (0.0,), (0,))
    early, late = _sampled([5], [-0.1], 2), _sampled([6], [-0.1], 7)
    assert is_stale(_rollout(tool, early, late), version, 8) is expected


@given(st.lists(st.integers(1, 50)), st.integers(1, 100))
def test_batches_hold_every_sequence_once_in_order_and_no_more_tokens_than_allowed(
    lengths: list[int], limit: int
) -> None:
    batches = list(batches_by_tokens(lengths, limit))
    assert [place for batch in batches for place in batch] == list(range(len(lengths)))
    for batch in batches:
        assert len(batch) == 1 or sum(lengths[place] for place in batch) <= limit


def test_a_batch_is_as_full_as_it_can_be() -> None:
    assert list(batches_by_tokens([4, 4, 2, 9, 1, 12, 3], 10)) == [range(3), range(3, 5), range(5, 6), range(6, 7)]


@pytest.mark.parametrize(
    ("lengths", "size"),
    [([], 0), ([4, 4], 0), ([4, 4, 2], 3), ([4, 4, 3], 2), ([12], 1), ([4, 12], 1), ([4, 5, 6, 7], 2)],
)
def test_a_batch_from_a_queue_is_full_once_the_next_sequence_does_not_fit(lengths: list[int], size: int) -> None:
    assert full_batch(lengths, 10) == size
