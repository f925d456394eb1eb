"""Metrics of a training step, by name, as they are stored and shown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import TYPE_CHECKING

from agnostics.algorithms.scoring import is_zero_variance
from agnostics.types.rollout import Rollout, RolloutBatch
from agnostics.types.verification import Verdict
from agnostics.util.statistics import quantile

if TYPE_CHECKING:
    from agnostics.train.learner import UpdateReport

_BARELY_BUSY = 0.01

METRICS = {
    "completions": "completions sampled, those of dynamic sampling included",
    "pass_rate": "share of accepted programs; failed sandboxes are left out",
    "reward_mean": "mean reward of the completions that have one",
    "verdict_VERDICT": "completions with this verdict; absent if there is none",
    "fraction_VERDICT": "share of completions with this verdict",
    "groups": "groups sampled",
    "zero_variance_groups": "groups whose task rewards are all equal",
    "masked": "completions without a reward",
    "filtered": "completions with a reward that the algorithm leaves out of the loss",
    "tokens": "tokens sampled",
    "tokens_mean": "mean length of a completion, in tokens",
    "tokens_max": "length of the longest completion, in tokens",
    "computed_prompt_tokens": "prompt tokens that the engine computed, of all turns: those it had cached are left out",
    "turns_mean": "mean number of turns of an episode; absent for single answers, as the next three",
    "solved_first_turn": "share of episodes of one turn that are accepted; failed sandboxes are left out",
    "tool_calls_mean": "mean number of tool calls of an episode",
    "failed_tool_calls": "tool calls that failed or could not be read",
    "truncated": "completions truncated at the maximum length",
    "truncated_fraction": "share of completions truncated at the maximum length",
    "entropy": "entropy of the policy, in nats, estimated from the sampled tokens",
    "generation_s": "seconds from submitting the batch to its last completion",
    "verification_wait_s": "seconds spent waiting for verdicts after the last completion",
    "tokens_per_s": "tokens sampled per second in which the engine was busy",
    "verification_p50_ms": "median milliseconds from a program's submission to its verdict",
    "verification_p99_ms": "99th percentile of the milliseconds from a program's submission to its verdict",
    "logprob_mismatch": "mean distance of the trainer's log-probabilities from the engine's, for the same weights",
    "learning_rate": "the learning rate",
    "policy_version": "updates of the policy after the step",
    "updates": "updates in the step",
    "stale_rollouts": "rollouts dropped for their age",
    "queued_tokens": "sampled tokens that wait for a full batch (`train.batch_tokens`)",
    "off_policy_steps_mean": "updates between sampling a token and training on it, mean over tokens",
    "off_policy_steps_max": "updates between sampling a token and training on it, maximum",
    "loss": "the loss of the first update",
    "importance_ratio": "importance ratio, mean over tokens",
    "clip_fraction": "share of tokens whose ratio was clipped",
    "kl": "KL divergence from the starting model, mean over tokens; 0 without `train.kl_coef`",
    "policy_entropy": "entropy of the policy, in nats, mean over the trained tokens",
    "grad_norm": "norm of the gradient before clipping, mean over updates",
    "update_s": "seconds spent on updates",
    "weight_sync_s": "seconds spent on loading new weights into the engine",
    "idle_generation": "share of the step in which the engine was idle",
    "idle_verification": "share of the step in which the sandbox was idle",
    "idle_training": "share of the step in which the trainer was idle",
    "verification_overlap": "share of the sandbox's busy time that overlaps with generation or training",
    "step_s": "seconds that the step took",
    "PHASE_completions": "completions of held-out tasks; `eval_during` is on validation tasks",
    "PHASE_pass_at_1": "held-out pass@1: mean over tasks of the share of accepted programs",
    "PHASE_pass_at_1_low": "held-out pass@1: lower end of its 95 % interval, by resampling families",
    "PHASE_pass_at_1_high": "held-out pass@1: upper end of its 95 % interval, by resampling families",
    "PHASE_turns_mean": "held-out: mean number of turns of an episode; absent for single answers, as the next three",
    "PHASE_solved_first_turn": "held-out: share of episodes of one turn that are accepted",
    "PHASE_tool_calls_mean": "held-out: mean number of tool calls of an episode",
    "PHASE_failed_tool_calls": "held-out: tool calls that failed or could not be read",
}
"""Descriptions of all metrics by name; VERDICT stands for any verdict and PHASE for any evaluation."""


def describe_metric(name: str) -> str:
    """The description of a metric by the name that loggers get (`train/loss`); empty for an unknown one."""
    group, _, name = name.partition("/")
    if group in ("eval", "validation"):
        return METRICS.get(f"PHASE_{name}", "")
    kind, _, verdict = name.partition("_")
    return METRICS.get(f"{kind}_VERDICT" if verdict in set(Verdict) else name, "")


def rollout_metrics(batch: RolloutBatch) -> dict[str, float]:
    """Metrics of the scored rollouts of a step."""
    rollouts = batch.rollouts
    rewards = [rollout.reward for rollout in rollouts if rollout.reward is not None]
    lengths = [rollout.num_sampled for rollout in rollouts]
    logprobs = [value for rollout in rollouts for value in rollout.sampled_logprobs]
    filtered = [rollout for rollout in rollouts if rollout.reward is not None and rollout.advantage is None]
    truncated = sum(rollout.finish_reason == "length" for rollout in rollouts)
    return {
        "completions": len(rollouts),
        **_verdicts(rollouts),
        "reward_mean": fmean(rewards) if rewards else 0.0,
        "groups": len(batch.groups),
        "zero_variance_groups": sum(map(is_zero_variance, batch.groups)),
        "masked": len(rollouts) - len(rewards),
        "filtered": len(filtered),
        "tokens": sum(lengths),
        "tokens_mean": fmean(lengths),
        "tokens_max": max(lengths),
        "computed_prompt_tokens": sum(turn.computed_prompt_tokens for one in rollouts for turn in one.turns),
        **episode_metrics(rollouts),
        "truncated": truncated,
        "truncated_fraction": truncated / len(rollouts),
        "entropy": -fmean(logprobs),
        "generation_s": batch.generation_s,
        "verification_wait_s": batch.verification_wait_s,
        **_verification_latency(rollouts),
    }


def episode_metrics(rollouts: Sequence[Rollout]) -> dict[str, float]:
    """Metrics of turns and tool calls; none if all rollouts are single answers."""
    if all(rollout.is_single_answer for rollout in rollouts):
        return {}
    calls = [call for rollout in rollouts for turn in rollout.turns for call in turn.tool_calls]
    verified = [rollout for rollout in rollouts if rollout.verified.verdict is not Verdict.SANDBOX_ERROR]
    solved = sum(rollout.verified.accepted and len(rollout.turns) == 1 for rollout in verified)
    return {
        "turns_mean": fmean(len(rollout.turns) for rollout in rollouts),
        "solved_first_turn": solved / len(verified) if verified else 0.0,
        "tool_calls_mean": len(calls) / len(rollouts),
        "failed_tool_calls": sum(not call.ok for call in calls),
    }


def time_metrics(seconds: float, utilisation: Mapping[str, float], tokens: float) -> dict[str, float]:
    """Metrics of a step's time: `seconds` in all, and its utilisation (`profiling.spans.utilisation`).

    There is no sampling speed for a step whose rollouts were sampled ahead, while the engine was idle.
    """
    busy = 1 - utilisation["idle_generation"]
    speed = {"tokens_per_s": tokens / (busy * seconds)} if busy > _BARELY_BUSY else {}
    return {**utilisation, "step_s": seconds, **speed}


def update_metrics(report: UpdateReport) -> dict[str, float]:
    """Metrics of a step's updates: means over the trained tokens.

    `policy_entropy` is the entropy of the whole distribution at each token, `entropy` above its estimate from samples.
    """
    updates, ages = report.updates, report.off_policy_steps
    always: dict[str, float] = {
        "updates": len(updates),
        "stale_rollouts": report.stale_rollouts,
        "queued_tokens": report.queued_tokens,
    }
    if not updates:
        return always
    return always | {
        "off_policy_steps_mean": sum(age * tokens for age, tokens in ages.items()) / ages.total(),
        "off_policy_steps_max": max(ages),
        "loss": updates[0].loss,
        "importance_ratio": fmean(update.importance_ratio for update in updates),
        "clip_fraction": fmean(update.clip_fraction for update in updates),
        "kl": fmean(update.kl for update in updates),
        "policy_entropy": fmean(update.entropy for update in updates),
        "grad_norm": fmean(update.grad_norm for update in updates),
    }


def _verdicts(rollouts: Sequence[Rollout]) -> dict[str, float]:
    """The number and share of completions of each verdict, and the share of accepted ones among those verified."""
    counts = Counter(rollout.verified.verdict for rollout in rollouts)
    verified = len(rollouts) - counts[Verdict.SANDBOX_ERROR]
    verdicts = [verdict for verdict in Verdict if verdict is not Verdict.SKIPPED]
    fractions = {f"fraction_{verdict}": counts[verdict] / len(rollouts) for verdict in verdicts}
    present = {f"verdict_{verdict}": count for verdict, count in sorted(counts.items())}
    return {"pass_rate": counts[Verdict.ACCEPTED] / verified if verified else 0.0, **present, **fractions}


def _verification_latency(rollouts: Sequence[Rollout]) -> dict[str, float]:
    """Percentiles of the verification time, of programs that ran."""
    times = sorted(rollout.verified.wall_ms for rollout in rollouts if rollout.verified.attempts)
    if not times:
        return {}
    return {f"verification_p{percent}_ms": quantile(times, percent / 100) for percent in (50, 99)}
