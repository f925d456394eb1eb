"""The returns and advantages of turns: what each sampled token of an episode is worth."""

from __future__ import annotations

from dataclasses import replace

import pytest
from agnostics.algorithms.algorithm import ScoringContext
from agnostics.algorithms.grpo import GRPO
from agnostics.algorithms.reinforce_plus_plus import REINFORCE_PLUS_PLUS
from agnostics.algorithms.scoring import turn_returns
from agnostics.types.reward import Accepted
from agnostics.types.rollout import Rollout, Segment, Turn
from agnostics.types.task import Task, Test
from agnostics.types.verification import Verdict, Verification
from hypothesis import given
from hypothesis import strategies as st

TASK = Task(id="t", tests=(Test(input="", output=""),))
CONTEXT = ScoringContext(Accepted(), 10, 100)
REWARDS = st.lists(st.floats(-2, 2), min_size=1, max_size=6)


def _episode(sample: int, verdict: Verdict, turn_rewards: list[float | None]) -> Rollout:
    """An episode whose k-th action has k tokens, with an observation of two tokens after each but the last."""
    segments = list[Segment]()
    for number in range(1, len(turn_rewards) + 1):
        segments.append(Segment.sampled((7,) * number, (-1.0,) * number, (0,) * number))
        segments.append(Segment((8, 8), (0, 0), (0.0, 0.0), (0, 0)))
    return Rollout(
        task=TASK,
        sample=sample,
        segments=tuple(segments[:-1]),
        turns=tuple(
            Turn(text="", num_tokens=number, finish_reason="stop", reward=reward)
            for number, reward in enumerate(turn_rewards, 1)
        ),
        verification=Verification("t", "lua", "", verdict, (), None, "none", 1, 0.0),
    )


def test_a_turn_is_worth_what_follows_it() -> None:
    assert turn_returns([0.5, None, 0.25], 1.0) == [1.75, 1.25, 1.25]
    assert turn_returns([0.5, None, 0.25], 1.0, 0.4) == pytest.approx([0.5 + 0.16 * 1.25, 0.4 * 1.25, 1.25])


@given(REWARDS, st.floats(-2, 2), st.floats(0.1, 1))
def test_returns_follow_their_recursion(rewards: list[float], reward: float, discount: float) -> None:
    returns = [*turn_returns(rewards, reward, discount), reward / discount]
    for place, turn_reward in enumerate(rewards):
        assert returns[place] == pytest.approx(turn_reward + discount * returns[place + 1], abs=1e-9)


def test_without_turn_rewards_every_token_of_an_episode_has_its_advantage() -> None:
    group = [_episode(0, Verdict.ACCEPTED, [None, None]), _episode(1, Verdict.WRONG_ANSWER, [None])]
    right, wrong = GRPO.score_group(group, CONTEXT)
    assert right.token_advantages == pytest.approx((1.0,) * 3)
    assert wrong.token_advantages == pytest.approx((-1.0,))


def test_a_failed_turn_before_a_right_one_is_worth_less_with_a_discount() -> None:
    algorithm = replace(GRPO, turn_rewards=True, turn_discount=0.4, normalize_by_std=False)
    group = [
        _episode(0, Verdict.ACCEPTED, [0.0, 0.0]),
        _episode(1, Verdict.ACCEPTED, [0.0]),
        _episode(2, Verdict.WRONG_ANSWER, [0.0, 0.0, 0.0]),
    ]
    scored = algorithm.score_group(group, CONTEXT)
    mean = (0.4 + 1 + 1) / 6
    assert scored[0].turn_advantages == pytest.approx((0.4 - mean, 1 - mean))
    assert scored[0].token_advantages == pytest.approx((0.4 - mean, 1 - mean, 1 - mean))
    assert scored[1].token_advantages == pytest.approx((1 - mean,))
    assert scored[2].token_advantages == pytest.approx((-mean,) * 6)
    assert [rollout.reward for rollout in scored] == [1.0, 1.0, 0.0]


def test_an_episode_that_is_left_out_of_the_loss_has_no_turn_advantages() -> None:
    algorithm = replace(GRPO, turn_rewards=True)
    group = [_episode(0, Verdict.SANDBOX_ERROR, [1.0, 1.0]), _episode(1, Verdict.ACCEPTED, [0.0])]
    masked, _ = algorithm.score_group(group, CONTEXT)
    assert (masked.advantage, masked.turn_advantages) == (None, None)


def test_a_group_with_equal_rewards_has_a_gradient_if_its_turns_differ() -> None:
    algorithm = replace(GRPO, turn_rewards=True, filter_zero_advantage=True)
    group = algorithm.score_group([_episode(n, Verdict.WRONG_ANSWER, [float(n), 0.0]) for n in range(2)], CONTEXT)
    assert algorithm.has_signal(group)
    assert all(map(algorithm.has_gradient, group))


@pytest.mark.parametrize("changes", [{"turn_discount": 0.0}, {"turn_discount": 1.5}])
def test_a_discount_out_of_range_is_refused(changes: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="turn_discount is above 0 and at most 1"):
        replace(GRPO, **changes)  # type: ignore[arg-type]


def test_turn_rewards_and_a_baseline_over_the_batch_exclude_each_other() -> None:
    with pytest.raises(ValueError, match="turn_rewards and normalize_over_batch exclude each other"):
        replace(REINFORCE_PLUS_PLUS, turn_rewards=True)
