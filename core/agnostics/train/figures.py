"""The figures of a step, by name, as they are stored and shown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from statistics import fmean

from agnostics.train.attempts import Round
from agnostics.train.lessons import Lessons
from agnostics.train.reckoning import Judged, silent


def figures_of(attempted: Round, groups: Sequence[Sequence[Judged]]) -> dict[str, float]:
    """What was sampled and how it was judged; `verdict_NAME` counts programs."""
    attempts = attempted.attempts
    rewards = [judged.reward for group in groups for judged in group if judged.reward is not None]
    lengths = [len(attempt.answer.token_ids) for attempt in attempts]
    logprobs = [value for attempt in attempts for value in attempt.answer.logprobs]
    verdicts = Counter(attempt.verification.verdict for attempt in attempts)
    rejected = [
        judged for group in groups for judged in group if judged.reward is not None and judged.advantage is None
    ]
    return {
        "completions": len(attempts),
        **{f"verdict_{verdict}": count for verdict, count in sorted(verdicts.items())},
        "pass_rate": fmean(attempt.verification.accepted for attempt in attempts),
        "reward_mean": fmean(rewards) if rewards else 0.0,
        "groups": len(groups),
        "groups_without_signal": sum(map(silent, groups)),
        "masked": len(attempts) - len(rewards),
        "rejected": len(rejected),
        "tokens": sum(lengths),
        "tokens_mean": fmean(lengths),
        "tokens_max": max(lengths),
        "cut_off": sum(attempt.answer.finish_reason == "length" for attempt in attempts),
        "entropy": -fmean(logprobs),
        "sampling_s": attempted.sampling_s,
        "verifying_s": attempted.waiting_s,
        "tokens_per_s": sum(lengths) / max(attempted.sampling_s, 1e-9),
    }


def figures_of_lessons(lessons: Lessons) -> dict[str, float]:
    """What the updates of a step did: means over the sampled tokens that they learnt from.

    `policy_entropy` is the entropy of the whole distribution at each token, `entropy` above its estimate from samples.
    """
    updates = lessons.updates
    if not updates:
        return {"updates": 0, "stale": lessons.stale}
    return {
        "updates": len(updates),
        "stale": lessons.stale,
        "loss": updates[0].loss,
        "ratio": fmean(update.ratio for update in updates),
        "clipped": fmean(update.clipped for update in updates),
        "kl": fmean(update.kl for update in updates),
        "policy_entropy": fmean(update.entropy for update in updates),
        "gradient_norm": fmean(update.gradient_norm for update in updates),
    }
