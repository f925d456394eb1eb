"""The figures of a step, by name, as they are stored and shown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from statistics import fmean

from agnostics.train.attempts import Round
from agnostics.train.policy import UpdateStats
from agnostics.train.reckoning import Judged


def figures_of(attempted: Round, groups: Sequence[Sequence[Judged]]) -> dict[str, float]:
    """What was sampled and how it was judged; `verdict_NAME` counts programs."""
    attempts = attempted.attempts
    rewards = [judged.reward for group in groups for judged in group if judged.reward is not None]
    lengths = [len(attempt.answer.token_ids) for attempt in attempts]
    logprobs = [value for attempt in attempts for value in attempt.answer.logprobs]
    verdicts = Counter(attempt.verification.verdict for attempt in attempts)
    silent = [group for group in groups if not any(judged.advantage for judged in group)]
    return {
        "completions": len(attempts),
        **{f"verdict_{verdict}": count for verdict, count in sorted(verdicts.items())},
        "pass_rate": fmean(attempt.verification.accepted for attempt in attempts),
        "reward_mean": fmean(rewards) if rewards else 0.0,
        "groups": len(groups),
        "groups_without_signal": len(silent),
        "masked": len(attempts) - len(rewards),
        "tokens": sum(lengths),
        "tokens_mean": fmean(lengths),
        "tokens_max": max(lengths),
        "cut_off": sum(attempt.answer.finish_reason == "length" for attempt in attempts),
        "entropy": -fmean(logprobs),
        "sampling_s": attempted.sampling_s,
        "verifying_s": attempted.waiting_s,
        "tokens_per_s": sum(lengths) / max(attempted.sampling_s, 1e-9),
    }


def figures_of_updates(stats: Sequence[UpdateStats]) -> dict[str, float]:
    """What the updates of a step did; the entropy above and the ratio here are means over sampled tokens."""
    if not stats:
        return {"updates": 0}
    return {
        "updates": len(stats),
        "loss": stats[0].loss,
        "ratio": fmean(update.ratio for update in stats),
        "clipped": fmean(update.clipped for update in stats),
        "gradient_norm": fmean(update.gradient_norm for update in stats),
    }
