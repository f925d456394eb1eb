"""The metrics of a step, against counts by hand, and their names against their descriptions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

import pytest
from agnostics.algorithms.algorithm import ScoringContext
from agnostics.algorithms.grpo import GRPO
from agnostics.algorithms.scoring import off_policy_steps
from agnostics.callbacks.callback import MetricsLogger
from agnostics.profiling.spans import Span, utilisation
from agnostics.train.learner import UpdateReport
from agnostics.train.metrics import (
    METRICS,
    describe_metric,
    episode_metrics,
    rollout_metrics,
    time_metrics,
    update_metrics,
)
from agnostics.train.policy import UpdateStats
from agnostics.types.reward import Accepted
from agnostics.types.rollout import Rollout, RolloutBatch, Segment, ToolCallRecord, Turn
from agnostics.types.task import Task, Test
from agnostics.types.verification import Verdict, Verification

TASK = Task(id="t", tests=(Test(input="", output=""),))
VERDICTS = [Verdict.ACCEPTED, Verdict.ACCEPTED, Verdict.WRONG_ANSWER, Verdict.NO_PROGRAM, Verdict.SANDBOX_ERROR]
UPDATE = UpdateStats(
    loss=0.5, importance_ratio=1.0, logprob_mismatch=0.0, clip_fraction=0.25, kl=0.0, entropy=1.5, grad_norm=2.0
)


def _rollout(sample: int, verdict: Verdict) -> Rollout:
    """A completion of `sample` + 1 tokens, the longest truncated; its program took 100 ms for each of them."""
    tokens = sample + 1
    ran = verdict is not Verdict.NO_PROGRAM
    return Rollout(
        task=TASK,
        sample=sample,
        prompt_ids=(1, 2),
        segments=(Segment.sampled((5,) * tokens, (-0.5,) * tokens, (0,) * tokens),),
        finish_reason="length" if tokens == len(VERDICTS) else "stop",
        text="x",
        num_tokens=tokens,
        verification=Verification("t", "lua", "x", verdict, (), None, "none", int(ran), 100.0 * tokens),
    )


def _metrics() -> dict[str, float]:
    group = [_rollout(sample, verdict) for sample, verdict in enumerate(VERDICTS)]
    scored = GRPO.score_group(group, ScoringContext(Accepted(), 10, 100))
    return rollout_metrics(RolloutBatch([scored], generation_s=2.0, verification_wait_s=0.5))


def test_rates_leave_out_what_a_failed_sandbox_said_nothing_about_and_fractions_add_up() -> None:
    metrics = _metrics()
    assert (metrics["pass_rate"], metrics["reward_mean"], metrics["masked"]) == (0.5, 0.5, 1)
    found = [value for name, value in metrics.items() if name.startswith("fraction_")]
    assert len(found) == len(Verdict) - 1
    assert sum(found) == pytest.approx(1.0)
    assert (metrics["fraction_accepted"], metrics["fraction_runtime_error"]) == (0.4, 0.0)
    assert (metrics["verdict_accepted"], "verdict_runtime_error" in metrics) == (2, False)


def test_lengths_speed_and_latency_are_those_of_the_completions() -> None:
    metrics = _metrics()
    assert (metrics["tokens_mean"], metrics["tokens_max"]) == (3, 5)
    assert time_metrics(4.0, {"idle_generation": 0.5}, metrics["tokens"])["tokens_per_s"] == 7.5
    assert "tokens_per_s" not in time_metrics(4.0, {"idle_generation": 1.0}, 15)
    assert (metrics["truncated"], metrics["truncated_fraction"]) == (1, 0.2)
    assert metrics["verification_p50_ms"] == 250  # of 100, 200, 300 and 500: where there was no program, none ran
    assert metrics["verification_p99_ms"] == pytest.approx(494)
    assert (metrics["generation_s"], metrics["verification_wait_s"]) == (2.0, 0.5)


def test_the_age_of_a_token_is_how_many_updates_came_since_and_only_sampled_ones_count() -> None:
    turns = (
        Segment.sampled((1, 2), (-0.1, -0.2), (3, 3)),
        Segment((7, 8), (0, 0), (0.0, 0.0), (0, 0)),  # what a tool wrote
        Segment.sampled((4,), (-0.1,), (5,)),
    )
    assert off_policy_steps(Rollout(task=TASK, sample=0, prompt_ids=(1,), segments=turns), 6) == [3, 3, 1]
    metrics = update_metrics(UpdateReport([UPDATE], 0, Counter({0: 6, 3: 2}), 0.0))
    assert (metrics["off_policy_steps_mean"], metrics["off_policy_steps_max"]) == (0.75, 3)
    assert metrics["clip_fraction"] == 0.25
    nothing = update_metrics(UpdateReport([], 4, Counter(), None, added_tokens=90, queued_tokens=70))
    assert nothing == {"updates": 0, "stale_rollouts": 4, "queued_tokens": 70}


def _episodes() -> list[Rollout]:
    """Solved at the first turn, at the second after a failed tool call, not solved; and one whose sandbox failed."""
    first = Turn(text="x", num_tokens=1, finish_reason="stop", verification=_rollout(0, Verdict.ACCEPTED).verified)
    calls = tuple(ToolCallRecord(tool="shell", arguments={}, output="", ok=ok) for ok in (True, False))
    called = replace(first, observation="Again.", tool_calls=calls)
    return [
        replace(_rollout(0, Verdict.ACCEPTED), turns=(first,)),
        replace(_rollout(1, Verdict.ACCEPTED), turns=(called, first)),
        replace(_rollout(2, Verdict.WRONG_ANSWER), turns=(first,)),
        replace(_rollout(3, Verdict.SANDBOX_ERROR), turns=(called, called, called, first)),
    ]


def test_turns_and_tool_calls_are_counted_and_what_is_solved_at_once() -> None:
    assert episode_metrics(_episodes()) == {
        "turns_mean": 2.0,
        "solved_first_turn": pytest.approx(1 / 3),
        "tool_calls_mean": 2.0,
        "failed_tool_calls": 4,
    }


def test_prompt_tokens_that_an_engine_computed_are_those_of_all_turns() -> None:
    first, second = (Turn(text="x", num_tokens=1, finish_reason="stop", computed_prompt_tokens=n) for n in (50, 7))
    rollouts = [replace(_rollout(0, Verdict.ACCEPTED), turns=turns) for turns in ((first, second), (second,))]
    assert rollout_metrics(RolloutBatch([rollouts]))["computed_prompt_tokens"] == 64


def test_single_answers_have_no_metrics_of_turns() -> None:
    turn = Turn(text="x", num_tokens=1, finish_reason="stop", sampling_ms=3.0)
    assert episode_metrics([replace(_rollout(0, Verdict.ACCEPTED), turns=(turn,))]) == {}
    assert not {"turns_mean", "failed_tool_calls"} & _metrics().keys()


class _Names(MetricsLogger):
    """Keeps the names that a logger gets."""

    def __init__(self) -> None:
        self.names = set[str]()

    def log(self, step: int, metrics: Mapping[str, float]) -> None:  # noqa: ARG002
        self.names |= set(metrics)


def test_every_metric_has_a_description_by_the_name_that_loggers_get() -> None:
    made = (
        _metrics()
        | episode_metrics(_episodes())
        | time_metrics(4.0, utilisation([Span("generation", "generate", 0.0, 1.0)], (0.0, 4.0)), 15)
        | update_metrics(UpdateReport([UPDATE], 0, Counter({0: 6}), 0.0))
    )
    logger = _Names()
    logger.step_finished(1, made, ())
    evaluated = {"completions": 4, "pass_at_1": 0.5, **episode_metrics(_episodes())}
    logger.evaluation_finished(0, "eval_before", evaluated, None)
    logger.evaluation_finished(1, "eval_during", {"pass_at_1_low": 0.4, "pass_at_1_high": 0.6}, None)
    assert [name for name in logger.names if not describe_metric(name)] == []
    assert {"train/pass_rate", "eval/pass_at_1", "validation/pass_at_1_low"} <= logger.names
    assert describe_metric("train/verdict_accepted") == METRICS["verdict_VERDICT"]
    assert describe_metric("train/something_else") == describe_metric("eval/something_else") == ""
