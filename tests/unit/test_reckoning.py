"""From verdicts to advantages and to the examples that are learnt from."""

from __future__ import annotations

from dataclasses import replace

import pytest
from agnostics.algorithms.algorithm import Algorithm
from agnostics.algorithms.cwm import CWM
from agnostics.algorithms.dapo import DAPO
from agnostics.algorithms.grpo import GRPO
from agnostics.algorithms.scoring import Judge, Judged, silent
from agnostics.inference.engine import Answer, Prompt
from agnostics.rollout.collector import Attempt
from agnostics.train.learner import examples_of
from agnostics.types.reward import Accepted
from agnostics.types.task import Task, Test
from agnostics.types.verification import Verdict, Verification

TASK = Task(id="t", tests=(Test(input="", output=""),))
LIMIT, VOCABULARY = 10, 100


def _attempt(verdict: Verdict, tokens: int = 4, *, token: int = 5, logprob: float = -0.5) -> Attempt:
    answer = Answer((token,) * tokens, (logprob,) * tokens, "length" if tokens == LIMIT else "stop", (0,) * tokens)
    verification = Verification("t", "lua", "x", verdict, (), None, "none", 1, 0.0)
    return Attempt(TASK, 0, answer.after(Prompt((1, 2), 0)), answer, "x", verification)


def _judge(algorithm: Algorithm, group: list[Attempt], progress: float = 0.0) -> list[Judged]:
    return Judge(Accepted(), algorithm, LIMIT, VOCABULARY).judge(group, progress)


RIGHT, WRONG, BROKEN = Verdict.ACCEPTED, Verdict.WRONG_ANSWER, Verdict.SANDBOX_ERROR


def test_a_failed_sandbox_neither_counts_nor_gets_an_advantage() -> None:
    judged = _judge(GRPO, [_attempt(RIGHT), _attempt(BROKEN), _attempt(WRONG)])
    assert [j.reward for j in judged] == [1.0, None, 0.0]
    assert [j.advantage for j in judged] == [pytest.approx(1.0), None, pytest.approx(-1.0)]
    nothing = _judge(GRPO, [_attempt(BROKEN), _attempt(BROKEN)])
    assert [j.advantage for j in nothing] == [None, None]


def test_a_masked_answer_is_left_out_but_counts_in_the_mean_of_its_group() -> None:
    group = [_attempt(RIGHT), _attempt(WRONG), _attempt(WRONG, LIMIT)]
    kept = _judge(GRPO, group)
    masked = _judge(replace(GRPO, mask_truncated=True), group)
    assert [j.advantage for j in masked] == [kept[0].advantage, kept[1].advantage, None]
    assert masked[2].reward == 0.0
    assert len(examples_of([masked], GRPO)) == 2


def test_gibberish_is_left_out_under_cwm() -> None:
    group = [_attempt(RIGHT, token=90, logprob=-9.0), _attempt(RIGHT, token=90), _attempt(WRONG)]
    assert [j.advantage is None for j in _judge(CWM, group)] == [True, False, False]


def test_cwm_compares_with_the_length_weighted_mean() -> None:
    judged = _judge(CWM, [_attempt(RIGHT, 1), _attempt(WRONG, 9)], progress=1.0)
    assert [j.advantage for j in judged] == pytest.approx([0.9, -0.1])


def test_dapos_length_penalty_is_part_of_the_reward_and_gives_no_signal_by_itself() -> None:
    judged = _judge(DAPO, [_attempt(WRONG, 5), _attempt(WRONG, 9)])
    assert [j.earned for j in judged] == [0.0, 0.0]
    assert [j.reward for j in judged] == pytest.approx([0.0, -0.5])
    assert silent(judged)
    assert not silent(_judge(DAPO, [_attempt(RIGHT), _attempt(WRONG)]))


@pytest.mark.parametrize(
    ("algorithm", "counted"),
    [(GRPO, 4), (replace(GRPO, dynamic_sampling_rounds=1), 2), (replace(GRPO, filter_zero_variance=True), 2)],
)
def test_groups_without_signal_count_in_the_mean_unless_they_are_dropped(algorithm: Algorithm, counted: int) -> None:
    groups = [_judge(algorithm, [_attempt(RIGHT), _attempt(other)]) for other in (WRONG, RIGHT)]
    assert len(examples_of(groups, algorithm)) == counted


def test_an_algorithm_may_bring_advantages_of_its_own() -> None:
    ranks = Algorithm(
        name="ranks",
        source="",
        advantages=lambda rewards, lengths: [r - n for r, n in zip(rewards, lengths, strict=True)],
    )
    judged = _judge(ranks, [_attempt(RIGHT, 2), _attempt(BROKEN, 3), _attempt(WRONG, 5)])
    assert [j.advantage for j in judged] == [-1.0, None, -5.0]
