"""The queue of rollouts: full batches by tokens, none too old when its update comes, and the same after a resume."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from agnostics.algorithms.algorithm import Algorithm
from agnostics.algorithms.cwm import CWM
from agnostics.algorithms.grpo import GRPO
from agnostics.rollout.schedule import StepsAhead
from agnostics.train.learner import RolloutQueue
from agnostics.types.errors import UsageError
from agnostics.types.rollout import Rollout, Segment
from agnostics.types.task import Task, Test
from hypothesis import given
from hypothesis import strategies as st

TASK = Task(id="t", tests=(Test(input="", output=""),))
SMALL = replace(CWM, batch_tokens=10, max_off_policy_steps=2)


def _rollout(tokens: int, version: int = 0, sample: int = 0) -> Rollout:
    logprobs = [-1 / (3 + place) for place in range(tokens)]
    return Rollout(
        task=TASK,
        sample=sample,
        prompt_ids=(1, 2),
        segments=(
            Segment.sampled([5 + place for place in range(tokens)], logprobs, [version] * tokens),
            Segment((3, 4), (0, 0), (0.0, 0.0), (0, 0)),  # what a tool wrote
        ),
        advantage=0.1 - 1 / 3,
    )


def test_what_fills_no_batch_waits_for_the_next_step() -> None:
    queue, rollouts = RolloutQueue(), [_rollout(4, sample=place) for place in range(5)]
    queue.add(rollouts[:3])
    assert queue.pop_batch(SMALL, 0) == rollouts[:2]
    assert queue.pop_batch(SMALL, 1) == []
    assert queue.tokens == 4
    queue.add(rollouts[3:])
    assert queue.pop_batch(SMALL, 1) == rollouts[2:4]
    assert (queue.rollouts, queue.dropped) == (rollouts[4:], 0)


@pytest.mark.parametrize(
    "algorithm",
    [GRPO, replace(GRPO, batch_tokens=10), replace(GRPO, max_off_policy_steps=2)],
    ids=lambda a: str(a.batch_tokens),
)
def test_without_sampling_ahead_or_a_limit_of_tokens_nothing_waits(algorithm: Algorithm) -> None:
    queue, rollouts = RolloutQueue(), [_rollout(4, sample=place) for place in range(5)]
    queue.add(rollouts)
    assert queue.pop_batch(algorithm, 0) == rollouts
    assert queue.pop_batch(algorithm, 1) == []


def test_a_rollout_that_grows_too_old_between_two_updates_is_dropped_and_counted() -> None:
    queue = RolloutQueue()
    queue.add([_rollout(5, sample=place) for place in range(10)])
    sizes = [len(queue.pop_batch(SMALL, version)) for version in range(4)]
    assert sizes == [2, 2, 2, 0]
    assert (queue.rollouts, queue.dropped) == ([], 4)
    on_policy = replace(SMALL, max_off_policy_steps=0)
    assert queue.without_stale([_rollout(4)], on_policy, 7)  # it made all these updates with what it sampled
    assert queue.without_stale([_rollout(4), _rollout(4, 5)], SMALL, 7) == [_rollout(4, 5)]


def test_a_saved_queue_is_restored_to_the_last_bit() -> None:
    queue, restored = RolloutQueue(), RolloutQueue()
    queue.add([_rollout(3, 1), _rollout(5, 2, sample=1)])
    restored.restore(json.loads(json.dumps(queue.saved())), [TASK])
    assert restored.rollouts == queue.rollouts
    with pytest.raises(UsageError, match="a completion of task 't', which the data set lacks"):
        restored.restore(queue.saved(), [])


def _ahead(
    max_off_policy_steps: int, updates: int, batch_tokens: int, longest: int = 0, most: int = 4000
) -> StepsAhead:
    return StepsAhead(max_off_policy_steps, updates, batch_tokens, longest, most)


@pytest.mark.parametrize(
    ("bound", "updates", "steps"),
    [(0, 1, 0), (0, 4, 0), (1, 1, 1), (4, 1, 4), (4, 2, 1), (3, 2, 1), (2, 2, 0), (1, 4, 0)],
)
def test_a_step_of_one_batch_is_sampled_ahead_as_far_as_its_last_update_allows(
    bound: int, updates: int, steps: int
) -> None:
    assert _ahead(bound, updates, 0).limit(0) == steps
    assert steps == 0 or (steps + 1) * updates - 1 <= bound


def test_steps_ahead_follow_the_tokens_that_steps_really_have_and_those_that_wait() -> None:
    ahead = _ahead(4, 1, 600, longest=96)
    for _ in range(4):
        assert ahead.limit(0) == 0  # of the first steps, the most that they can sample is expected
        ahead.observe(1000)
    assert (ahead.limit(0), ahead.limit(599), ahead.limit(800)) == (1, 0, 0)
    for tokens in (900, 1100) * 4:
        ahead.observe(tokens)
    assert (ahead.limit(0), ahead.limit(500)) == (1, 0)  # they vary now
    for _ in range(8):
        ahead.observe(10)
    assert ahead.limit(0) == 4  # no more than the bound itself


@given(
    bound=st.integers(1, 8),
    updates=st.integers(1, 3),
    batch_tokens=st.integers(20, 200),
    lengths=st.lists(st.integers(1, 20), min_size=2, max_size=12),
)
def test_sampling_ahead_drops_nothing_where_steps_are_alike_and_trains_on_nothing_too_old(
    bound: int, updates: int, batch_tokens: int, lengths: list[int]
) -> None:
    """Every step samples `lengths` at once, with the policy of the moment when it was submitted."""
    algorithm = replace(CWM, batch_tokens=batch_tokens, max_off_policy_steps=bound)
    ahead = _ahead(bound, updates, batch_tokens, longest=20, most=sum(lengths))
    queue, submitted, version, fits = RolloutQueue(), dict[int, int](), 0, True
    for step in range(30):
        limit = ahead.limit(queue.tokens)
        in_time = (bound + 1) // updates * (batch_tokens - 20)  # tokens of the batches that are trained on in time
        fits = fits and (limit > 0 or sum(lengths) + queue.tokens <= in_time)
        for later in range(step, step + limit + 1):
            submitted.setdefault(later, version)
        queue.add([_rollout(length, submitted[step]) for length in lengths])
        while batch := queue.pop_batch(algorithm, version):
            for _ in range(updates):
                batch = queue.without_stale(batch, algorithm, version)
                assert all(version - age <= bound for rollout in batch for age in rollout.sampled_versions)
                version += 1
        ahead.observe(sum(lengths))
    assert queue.dropped == 0 or not fits
