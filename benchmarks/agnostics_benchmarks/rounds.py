"""The summary of rounds of training: rates and ratios, stages, memory and rewards."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import fmean, median
from typing import Any

from agnostics_benchmarks.trainers import BenchTurn

RATIOS = {"ours_over_trl": "ours", "overlapped_over_trl": "ours_overlapped"}

Round = dict[str, BenchTurn]
"""One turn of each trainer, by its name."""


def summary(rounds: Sequence[Round]) -> dict[str, Any]:
    """The summary of rounds: medians, and in `spread` the minimum and maximum of each."""
    measured = {
        **{f"{name}_samples_per_s": [turns[name].samples_per_s for turns in rounds] for name in rounds[0]},
        **{ratio: [_speed_over_trl(turns, name) for turns in rounds] for ratio, name in RATIOS.items()},
        "peak_memory_over_trl": [_memory_over_trl(turns) for turns in rounds],
    }
    return {
        **{name: rounded(median(values)) for name, values in measured.items()},
        "spread": {name: [rounded(min(values)), rounded(max(values))] for name, values in measured.items()},
        "stages": {name: _stages([turns[name] for turns in rounds]) for name in rounds[0]},
        "tokens_mean": _each(rounds, lambda turn: turn.tokens_mean),
        "peak_memory_mb": _each(rounds, lambda turn: turn.peak_mb),
        "reward": _rewards(rounds),
    }


def _speed_over_trl(turns: Round, name: str) -> float:
    return turns[name].samples_per_s / turns["trl"].samples_per_s


def _memory_over_trl(turns: Round) -> float:
    """Peak memory of the larger of our two trainers, relative to TRL's."""
    return max(turns[name].peak_mb for name in RATIOS.values()) / turns["trl"].peak_mb


def _stages(turns: Sequence[BenchTurn]) -> dict[str, float]:
    return {stage: rounded(median(turn.stages[stage] for turn in turns)) for stage in turns[0].stages}


def _each(rounds: Sequence[Round], value_of: Callable[[BenchTurn], float]) -> dict[str, float]:
    return {name: rounded(median(value_of(turns[name]) for turns in rounds)) for name in rounds[0]}


def _rewards(rounds: Sequence[Round]) -> dict[str, dict[str, float]]:
    """The rewards of each contender, and by how much ours are above TRL's in the same round: mean, minimum, maximum."""
    rewards = {name: [turns[name].reward for turns in rounds] for name in rounds[0]}
    above = {
        f"{name}_minus_trl": [own - theirs for own, theirs in zip(rewards[name], rewards["trl"], strict=True)]
        for name in RATIOS.values()
    }
    return {
        name: {"mean": rounded(fmean(values)), "min": rounded(min(values)), "max": rounded(max(values))}
        for name, values in {**rewards, **above}.items()
    }


def rounded(value: float) -> float:
    """`value` to four digits."""
    return float(f"{value:.4g}")
