"""The figures of a step, against counts by hand, and their names against their descriptions."""

from __future__ import annotations

from collections import Counter

import pytest
from agnostics.algorithms.filters import spoken_ages
from agnostics.algorithms.grpo import GRPO
from agnostics.algorithms.scoring import Judge
from agnostics.callbacks.dispatch import meaning, shown
from agnostics.inference.engine import Answer, Prompt
from agnostics.profiling.spans import Span, shares
from agnostics.rollout.collector import Attempt, Round
from agnostics.train.learner import Lessons
from agnostics.train.metrics import FIGURES, figures_of, figures_of_lessons, figures_of_time
from agnostics.train.policy import UpdateStats
from agnostics.types.reward import Accepted
from agnostics.types.rollout import Segment, Trajectory
from agnostics.types.task import Task, Test
from agnostics.types.verification import Verdict, Verification

TASK = Task(id="t", tests=(Test(input="", output=""),))
VERDICTS = [Verdict.ACCEPTED, Verdict.ACCEPTED, Verdict.WRONG_ANSWER, Verdict.NO_PROGRAM, Verdict.SANDBOX_ERROR]


def _attempt(sample: int, verdict: Verdict) -> Attempt:
    """An answer of `sample` + 1 tokens, the longest cut off; its program took 100 ms for each of them."""
    tokens = sample + 1
    answer = Answer((5,) * tokens, (-0.5,) * tokens, "length" if tokens == len(VERDICTS) else "stop", (0,) * tokens)
    ran = verdict is not Verdict.NO_PROGRAM
    verification = Verification("t", "lua", "x", verdict, (), None, "none", int(ran), 100.0 * tokens)
    return Attempt(TASK, sample, answer.after(Prompt((1, 2), 0)), answer, "x", verification)


def _figures() -> dict[str, float]:
    attempts = [_attempt(sample, verdict) for sample, verdict in enumerate(VERDICTS)]
    judged = Judge(Accepted(), GRPO, 10, 100).judge(attempts, 0.0)
    return figures_of(Round([attempts], sampling_s=2.0, waiting_s=0.5), [judged])


def test_rates_leave_out_what_a_failed_sandbox_said_nothing_about_and_shares_add_up() -> None:
    figures = _figures()
    assert (figures["pass_rate"], figures["reward_mean"], figures["masked"]) == (0.5, 0.5, 1)
    found = {
        name: value for name, value in figures.items() if name.startswith("share_") and name != "truncated_fraction"
    }
    assert len(found) == len(Verdict) - 1
    assert sum(found.values()) == pytest.approx(1.0)
    assert (found["share_accepted"], found["share_runtime_error"]) == (0.4, 0.0)
    assert (figures["verdict_accepted"], "verdict_runtime_error" in figures) == (2, False)


def test_lengths_speed_and_latency_are_those_of_the_answers() -> None:
    figures = _figures()
    assert (figures["tokens_mean"], figures["tokens_max"]) == (3, 5)
    assert figures_of_time(4.0, {"idle_generation": 0.5}, figures["tokens"])["tokens_per_s"] == 7.5
    assert "tokens_per_s" not in figures_of_time(4.0, {"idle_generation": 1.0}, 15)
    assert (figures["cut_off"], figures["truncated_fraction"]) == (1, 0.2)
    assert figures["verification_p50_ms"] == 250  # of 100, 200, 300 and 500: where there was no program, none ran
    assert figures["verification_p99_ms"] == pytest.approx(494)


def test_the_age_of_a_token_is_how_many_updates_came_since_and_only_spoken_ones_count() -> None:
    tool = Segment((7, 8), (0, 0), (0.0, 0.0), (0, 0))
    trajectory = Trajectory((1,), (Segment.spoken((1, 2), (-0.1, -0.2), 3), tool, Segment.spoken((4,), (-0.1,), 5)))
    assert spoken_ages(trajectory, 6) == [3, 3, 1]
    update = UpdateStats(loss=0.5, ratio=1.0, gap=0.0, clipped=0.25, kl=0.0, entropy=1.5, grad_norm=2.0)
    figures = figures_of_lessons(Lessons([update], 0, Counter({0: 6, 3: 2})))
    assert (figures["staleness_mean"], figures["staleness_max"], figures["clipped"]) == (0.75, 3, 0.25)
    assert figures_of_lessons(Lessons([], 4, Counter())) == {"updates": 0, "stale": 4}


def test_every_figure_has_a_description_that_watchers_find() -> None:
    update = UpdateStats(loss=0.5, ratio=1.0, gap=0.0, clipped=0.25, kl=0.0, entropy=1.5, grad_norm=2.0)
    made = (
        _figures()
        | figures_of_time(4.0, shares([Span("generation", "generate", 0.0, 1.0)], (0.0, 4.0)), 15)
        | figures_of_lessons(Lessons([update], 0, Counter({0: 6})))
    )
    names = shown(made | {"eval_before_pass_at_1": 0.5, "eval_during_pass_at_1_low": 0.4})
    assert [name for name in names if not meaning(name)] == []
    assert {"train/pass_rate", "held_out/pass_at_1", "held_out/pass_at_1_low"} <= names.keys()
    assert meaning("train/verdict_accepted") == FIGURES["verdict_VERDICT"]
    assert meaning("train/something_else") == ""
