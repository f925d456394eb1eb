"""The figures of a step, by name, as they are stored and shown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from statistics import fmean

from agnostics.algorithms.scoring import Judged, silent
from agnostics.rollout.collector import Attempt, Round
from agnostics.train.learner import Lessons
from agnostics.types.verification import Verdict
from agnostics.util.statistics import quantile

_HARDLY_BUSY = 0.01

FIGURES = {
    "completions": "answers sampled, those to prompts that filled up the batch too",
    "pass_rate": "share of programs accepted, among those judged: a failed sandbox judges nothing",
    "reward_mean": "mean reward of the answers that have one",
    "verdict_VERDICT": "answers with this verdict; not there where there was none",
    "share_VERDICT": "share of answers with this verdict",
    "groups": "groups sampled",
    "zero_variance_groups": "groups whose answers all earned the same",
    "masked": "answers without a reward",
    "rejected": "answers with a reward that the algorithm left out of the loss",
    "tokens": "tokens sampled",
    "tokens_mean": "mean length of an answer, in tokens",
    "tokens_max": "length of the longest answer, in tokens",
    "cut_off": "answers cut off at the limit",
    "truncated_fraction": "share of answers cut off at the limit",
    "entropy": "entropy of the policy, in nats, estimated from the tokens sampled",
    "sampling_s": "seconds from asking for the answers of the batch to the last of them",
    "verifying_s": "seconds spent waiting for verdicts after the last token",
    "tokens_per_s": "tokens sampled per second in which the engine was at work",
    "verification_p50_ms": "milliseconds from a program's submission to its verdict: the median",
    "verification_p99_ms": "milliseconds from a program's submission to its verdict: what 99 % of programs stay below",
    "gap": "mean distance of the trainer's log-probabilities from the engine's, on tokens of the same version",
    "learning_rate": "the learning rate",
    "policy_version": "updates that the policy has had, after the step",
    "updates": "updates in the step",
    "stale": "answers skipped for their age",
    "staleness_mean": "updates between sampling a token and learning from it, mean over the tokens learnt from",
    "staleness_max": "updates between sampling a token and learning from it: the most",
    "loss": "the loss of the first update",
    "ratio": "importance ratio, mean over tokens",
    "clipped": "share of tokens whose ratio was clipped",
    "kl": "divergence from the starting model, mean over tokens; 0 where `train.kl_coef` is",
    "policy_entropy": "entropy of the policy, in nats, mean over the tokens learnt from",
    "grad_norm": "norm of the gradient before it is clipped, mean over updates",
    "updating_s": "seconds spent on updates",
    "syncing_s": "seconds spent on giving the engine new weights",
    "idle_generation": "share of the step in which the engine had nothing to do",
    "idle_verification": "share of the step in which the sandbox had nothing to do",
    "idle_training": "share of the step in which the trainer had nothing to do",
    "hidden_verification": "share of the sandbox's time in which tokens were sampled or learnt from too",
    "seconds": "seconds that the step took",
    "PHASE_completions": "answers to held-out tasks",
    "PHASE_pass_at_1": "held-out pass@1: mean over tasks of the share of programs accepted",
    "PHASE_pass_at_1_low": "held-out pass@1: lower end of its 95 % interval, by resampling tasks",
    "PHASE_pass_at_1_high": "held-out pass@1: upper end of its 95 % interval, by resampling tasks",
}
"""What each figure is, by name, where VERDICT stands for any verdict and PHASE for any evaluation."""


def figures_of(attempted: Round, groups: Sequence[Sequence[Judged]]) -> dict[str, float]:
    """What was sampled and how it was judged."""
    attempts = attempted.attempts
    rewards = [judged.reward for group in groups for judged in group if judged.reward is not None]
    lengths = [len(attempt.answer.token_ids) for attempt in attempts]
    logprobs = [value for attempt in attempts for value in attempt.answer.logprobs]
    rejected = [
        judged for group in groups for judged in group if judged.reward is not None and judged.advantage is None
    ]
    cut_off = sum(attempt.answer.finish_reason == "length" for attempt in attempts)
    return {
        "completions": len(attempts),
        **_verdicts(attempts),
        "reward_mean": fmean(rewards) if rewards else 0.0,
        "groups": len(groups),
        "zero_variance_groups": sum(map(silent, groups)),
        "masked": len(attempts) - len(rewards),
        "rejected": len(rejected),
        "tokens": sum(lengths),
        "tokens_mean": fmean(lengths),
        "tokens_max": max(lengths),
        "cut_off": cut_off,
        "truncated_fraction": cut_off / len(attempts),
        "entropy": -fmean(logprobs),
        "sampling_s": attempted.sampling_s,
        "verifying_s": attempted.waiting_s,
        **_latency(attempts),
    }


def figures_of_time(seconds: float, shares: Mapping[str, float], tokens: float) -> dict[str, float]:
    """What a step of so many seconds and sampled tokens shows of who worked when (`timeline.shares`).

    Where its answers were sampled ahead and the engine had nothing more to do, it tells of no speed.
    """
    busy = 1 - shares["idle_generation"]
    speed = {"tokens_per_s": tokens / (busy * seconds)} if busy > _HARDLY_BUSY else {}
    return {**shares, "seconds": seconds, **speed}


def figures_of_lessons(lessons: Lessons) -> dict[str, float]:
    """What the updates of a step did: means over the sampled tokens that they learnt from.

    `policy_entropy` is the entropy of the whole distribution at each token, `entropy` above its estimate from samples.
    """
    updates, ages = lessons.updates, lessons.ages
    if not updates:
        return {"updates": 0, "stale": lessons.stale}
    return {
        "updates": len(updates),
        "stale": lessons.stale,
        "staleness_mean": sum(age * tokens for age, tokens in ages.items()) / ages.total(),
        "staleness_max": max(ages),
        "loss": updates[0].loss,
        "ratio": fmean(update.ratio for update in updates),
        "clipped": fmean(update.clipped for update in updates),
        "kl": fmean(update.kl for update in updates),
        "policy_entropy": fmean(update.entropy for update in updates),
        "grad_norm": fmean(update.grad_norm for update in updates),
    }


def _verdicts(attempts: Sequence[Attempt]) -> dict[str, float]:
    """How many answers got each verdict, the share of each, and that of accepted ones among those judged."""
    counts = Counter(attempt.verification.verdict for attempt in attempts)
    judged = len(attempts) - counts[Verdict.SANDBOX_ERROR]
    programs = [verdict for verdict in Verdict if verdict is not Verdict.SKIPPED]
    shares = {f"share_{verdict}": counts[verdict] / len(attempts) for verdict in programs}
    present = {f"verdict_{verdict}": count for verdict, count in sorted(counts.items())}
    return {"pass_rate": counts[Verdict.ACCEPTED] / judged if judged else 0.0, **present, **shares}


def _latency(attempts: Sequence[Attempt]) -> dict[str, float]:
    """How long verdicts took, of programs that ran."""
    times = sorted(attempt.verification.wall_ms for attempt in attempts if attempt.verification.attempts)
    if not times:
        return {}
    return {f"verification_p{percent}_ms": quantile(times, percent / 100) for percent in (50, 99)}
