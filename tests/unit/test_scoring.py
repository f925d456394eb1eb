"""From verdicts to advantages, and to the rollouts that count in the loss."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import replace

import pytest
from agnostics.algorithms.algorithm import Algorithm, ScoringContext
from agnostics.algorithms.cwm import CWM
from agnostics.algorithms.dapo import DAPO
from agnostics.algorithms.grpo import GRPO
from agnostics.algorithms.reinforce_plus_plus import REINFORCE_PLUS_PLUS, REINFORCE_PLUS_PLUS_BASELINE
from agnostics.algorithms.rloo import RLOO
from agnostics.algorithms.scoring import is_zero_variance
from agnostics.types.errors import AgnosticsError
from agnostics.types.reward import Accepted, RewardPolicy
from agnostics.types.rollout import Rollout, RolloutBatch, RolloutGroup, Segment
from agnostics.types.task import Task, Test
from agnostics.types.verification import Verdict, Verification

TASK = Task(id="t", tests=(Test(input="", output=""),))
LIMIT, VOCABULARY = 10, 100


def _rollout(verdict: Verdict, tokens: int = 4, *, token: int = 5, logprob: float = -0.5) -> Rollout:
    return Rollout(
        task=TASK,
        sample=0,
        prompt_ids=(1, 2),
        segments=(Segment.sampled((token,) * tokens, (logprob,) * tokens, (0,) * tokens),),
        finish_reason="length" if tokens == LIMIT else "stop",
        text="x",
        num_tokens=tokens,
        verification=Verification("t", "lua", "x", verdict, (), None, "none", 1, 0.0),
    )


def _score(
    algorithm: Algorithm, group: list[Rollout], progress: float = 0.0, policy: RewardPolicy | None = None
) -> list[Rollout]:
    return algorithm.score_group(group, ScoringContext(policy or Accepted(), LIMIT, VOCABULARY, progress=progress))


def _score_step(
    algorithm: Algorithm, *groups: list[Rollout], progress: float = 0.0, policy: RewardPolicy | None = None
) -> RolloutBatch:
    context = ScoringContext(policy or Accepted(), LIMIT, VOCABULARY, progress=progress)
    return algorithm.score(RolloutBatch(list(groups)), context)


RIGHT, WRONG, BROKEN = Verdict.ACCEPTED, Verdict.WRONG_ANSWER, Verdict.SANDBOX_ERROR


def test_a_failed_sandbox_neither_counts_nor_gets_an_advantage() -> None:
    scored = _score(GRPO, [_rollout(RIGHT), _rollout(BROKEN), _rollout(WRONG)])
    assert [r.reward for r in scored] == [1.0, None, 0.0]
    assert [r.advantage for r in scored] == [pytest.approx(1.0), None, pytest.approx(-1.0)]
    nothing = _score(GRPO, [_rollout(BROKEN), _rollout(BROKEN)])
    assert [r.advantage for r in nothing] == [None, None]


def test_a_masked_rollout_is_left_out_but_counts_in_the_mean_of_its_group() -> None:
    group = [_rollout(RIGHT), _rollout(WRONG), _rollout(WRONG, LIMIT)]
    kept = _score(GRPO, group)
    masking = replace(GRPO, mask_truncated=True)
    masked = _score(masking, group)
    assert [r.advantage for r in masked] == [kept[0].advantage, kept[1].advantage, None]
    assert masked[2].reward == 0.0
    assert len(_score_step(masking, group).counted) == 2


def test_gibberish_is_left_out_under_cwm() -> None:
    group = [_rollout(RIGHT, token=90, logprob=-9.0), _rollout(RIGHT, token=90), _rollout(WRONG)]
    assert [r.advantage is None for r in _score(CWM, group)] == [True, False, False]


def test_cwm_compares_with_the_length_weighted_mean() -> None:
    scored = _score(CWM, [_rollout(RIGHT, 1), _rollout(WRONG, 9)], progress=1.0)
    assert [r.advantage for r in scored] == pytest.approx([0.9, -0.1])


def test_dapos_length_penalty_is_part_of_the_reward_and_gives_no_signal_by_itself() -> None:
    scored = _score(DAPO, [_rollout(WRONG, 5), _rollout(WRONG, 9)])
    assert [r.task_reward for r in scored] == [0.0, 0.0]
    assert [r.reward for r in scored] == pytest.approx([0.0, -0.5])
    assert not DAPO.has_signal(scored)
    assert _score_step(DAPO, scored).counted == []
    assert DAPO.has_signal(_score(DAPO, [_rollout(RIGHT), _rollout(WRONG)]))


class _Shares(RewardPolicy):
    """Rewards one completion fully, one half, one not at all."""

    name = "shares"

    def rewards(self, group: RolloutGroup) -> Sequence[float]:
        return [1.0, 0.5, 0.0][: len(group)]


def test_cwm_learns_from_the_length_penalty_alone_and_skips_what_has_no_advantage() -> None:
    penalised = _score(CWM, [_rollout(RIGHT, 4), _rollout(RIGHT, 9)])
    equal = _score(CWM, [_rollout(RIGHT, 4), _rollout(RIGHT, 4)])
    assert is_zero_variance(penalised)
    assert [CWM.has_signal(group) for group in (penalised, equal)] == [True, False]
    assert _score_step(CWM, penalised, equal).counted == penalised
    mixed = _score_step(CWM, [_rollout(RIGHT)] * 3, progress=1.0, policy=_Shares())
    assert [r.advantage for r in mixed.rollouts] == [0.5, None, -0.5]


@pytest.mark.parametrize(
    ("algorithm", "counted"),
    [(GRPO, 4), (replace(GRPO, dynamic_sampling_rounds=1), 2), (replace(GRPO, filter_zero_variance=True), 2)],
)
def test_groups_without_signal_count_in_the_mean_unless_they_are_dropped(algorithm: Algorithm, counted: int) -> None:
    groups = [_score(algorithm, [_rollout(RIGHT), _rollout(other)]) for other in (WRONG, RIGHT)]
    assert len(_score_step(algorithm, *groups).counted) == counted


def test_an_algorithm_may_bring_advantages_of_its_own() -> None:
    ranks = Algorithm(
        name="ranks",
        source="",
        advantage_function=lambda rewards, lengths: [r - n for r, n in zip(rewards, lengths, strict=True)],
    )
    scored = _score(ranks, [_rollout(RIGHT, 2), _rollout(BROKEN, 3), _rollout(WRONG, 5)])
    assert [r.advantage for r in scored] == [-1.0, None, -5.0]


def _by_hand(values: list[float], lengths: list[int]) -> list[float]:
    """(A - mean) / std over all tokens of the batch, token by token."""
    tokens = [value for value, length in zip(values, lengths, strict=True) for _ in range(length)]
    mean, std = statistics.fmean(tokens), statistics.pstdev(tokens)
    return [(value - mean) / std for value in values]


@pytest.mark.parametrize(
    ("algorithm", "values"),
    [(REINFORCE_PLUS_PLUS, [1, 0, 1, 1, 1]), (REINFORCE_PLUS_PLUS_BASELINE, [0.5, -0.5, 0, 0, 0])],
)
def test_advantages_are_normalised_over_the_tokens_of_the_whole_step(algorithm: Algorithm, values: list[float]) -> None:
    first, second = _score_step(
        algorithm,
        [_rollout(RIGHT, 2), _rollout(WRONG, 5), _rollout(BROKEN, 9)],
        [_rollout(RIGHT, 3), _rollout(RIGHT, 4), _rollout(RIGHT, 7)],
    ).groups
    expected = _by_hand(values, [2, 5, 3, 4, 7])
    assert [r.advantage for r in first] == [pytest.approx(expected[0]), pytest.approx(expected[1]), None]
    assert [r.advantage for r in second] == pytest.approx(expected[2:])


def test_a_step_with_equal_rewards_has_no_advantage_to_normalise() -> None:
    wrong = _score_step(REINFORCE_PLUS_PLUS, [_rollout(WRONG), _rollout(WRONG)]).rollouts
    assert [r.advantage for r in wrong] == [0.0, 0.0]
    broken = _score_step(REINFORCE_PLUS_PLUS, [_rollout(BROKEN)]).rollouts
    assert [r.advantage for r in broken] == [None]


@pytest.mark.parametrize("algorithm", [GRPO, RLOO, CWM])
def test_other_algorithms_keep_the_advantages_within_a_group(algorithm: Algorithm) -> None:
    groups = [[_rollout(RIGHT, 2), _rollout(WRONG, 5)], [_rollout(RIGHT, 3), _rollout(RIGHT, 4)]]
    alone = [rollout.advantage for group in groups for rollout in _score(algorithm, group)]
    together = [rollout.advantage or 0.0 for rollout in _score_step(algorithm, *groups).rollouts]
    assert together == alone


def test_what_dynamic_sampling_has_scored_is_not_scored_again() -> None:
    scored = [replace(rollout, advantage=9.0) for rollout in _score(DAPO, [_rollout(RIGHT, 2), _rollout(WRONG, 5)])]
    assert _score_step(DAPO, scored).groups == [scored]


def test_rloo_compares_each_rollout_with_the_others_of_its_group() -> None:
    scored = _score(RLOO, [_rollout(RIGHT), _rollout(WRONG), _rollout(BROKEN), _rollout(WRONG)])
    assert [r.advantage for r in scored] == [1.0, -0.5, None, -0.5]
    (update,) = RLOO.update_batches(scored, LIMIT)
    assert [r.loss_weight for r in update] == [1 / (4 * LIMIT)] * 4


class _Short(RewardPolicy):
    """Rewards short completions, and forgets the last one."""

    name = "short"

    def rewards(self, group: RolloutGroup) -> Sequence[float]:
        return [1 / rollout.num_tokens for rollout in group[:-1]]


def test_a_reward_policy_that_gives_another_number_of_rewards_is_named() -> None:
    with pytest.raises(AgnosticsError, match="reward policy 'short' gave 1 rewards for 2 rollouts"):
        _score(GRPO, [_rollout(RIGHT), _rollout(WRONG)], policy=_Short())


def test_loss_weights_are_normalised_over_each_update() -> None:
    rollouts = [_rollout(RIGHT, tokens) for tokens in (2, 3, 4)]
    (whole,) = GRPO.update_batches(rollouts, LIMIT)
    assert [r.loss_weight for r in whole] == [1 / 9] * 3
    first, second = replace(GRPO, batch_tokens=5).update_batches(rollouts, LIMIT)
    assert [[r.loss_weight for r in batch] for batch in (first, second)] == [[1 / 5] * 2, [1 / 4]]
