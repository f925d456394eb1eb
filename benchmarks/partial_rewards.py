"""The rewards of benchmarks/real_model.py in languages of which the untrained model hardly solves a task.

agn run --set reward=benchmarks/partial_rewards.py:compiling
"""

from __future__ import annotations

from collections.abc import Sequence

from agnostics import Rollout, Verdict

_NOT_COMPILED = {Verdict.COMPILE_ERROR, Verdict.NO_PROGRAM}


def compiling(group: Sequence[Rollout]) -> list[float]:
    """0.9 of the share of tests passed, and 0.1 for a program that compiles.

    The reward `steps` pays a program that compiles a fifth of one that is accepted. With it the model learnt in OCaml
    to write programs that do nothing: in ten steps those that compile rose from 8 to 35 of 64, and the accepted ones
    fell from 2 to none.
    """
    return [0.9 * _passed(rollout) + 0.1 * (rollout.verified.verdict not in _NOT_COMPILED) for rollout in group]


def running(group: Sequence[Rollout]) -> list[float]:
    """0.9 of the share of tests passed, and 0.1 for a program that ends without an error in every test."""
    failed = _NOT_COMPILED | {Verdict.RUNTIME_ERROR}
    return [0.9 * _passed(rollout) + 0.1 * (rollout.verified.verdict not in failed) for rollout in group]


def _passed(rollout: Rollout) -> float:
    return sum(test.verdict is Verdict.ACCEPTED for test in rollout.verified.tests) / len(rollout.task.tests)
