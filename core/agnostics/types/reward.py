"""Reward policies: from the rollouts of one group to their rewards."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from agnostics.types.code_extraction import code_blocks, strip_reasoning
from agnostics.types.rollout import Rollout, RolloutGroup
from agnostics.types.verification import Verdict


class RewardPolicy(ABC):
    """Rewards the rollouts of one group, registered through `agn_rewards` and chosen by its name.

    Each rollout holds its task, its completion (`text`, tokens) and its verification.
    """

    name: str
    needs_all_tests: bool = False
    """Run every test of every program. Otherwise a program ends at its first failed test, and the tests after it are
    skipped."""

    @abstractmethod
    def rewards(self, group: RolloutGroup) -> Sequence[float | None]:
        """One reward for each rollout of `group`; `None` leaves that rollout out of the loss."""


class _VerifiedReward(RewardPolicy):
    """Rewards each rollout by itself; None where the sandbox failed, which says nothing about the program."""

    def rewards(self, group: RolloutGroup) -> list[float | None]:
        """See `RewardPolicy.rewards`."""
        failed = Verdict.SANDBOX_ERROR
        return [None if rollout.verified.verdict is failed else self.reward(rollout) for rollout in group]

    @abstractmethod
    def reward(self, rollout: Rollout) -> float:
        """The reward of a rollout with a verdict on its program."""


class Accepted(_VerifiedReward):
    """1 for an accepted program, 0 for any other (the paper, section 3.3)."""

    name = "accepted"

    def reward(self, rollout: Rollout) -> float:
        """See `_VerifiedReward.reward`."""
        return float(rollout.verified.accepted)


class PassedTests(_VerifiedReward):
    """k / n for a program that passes k of its task's n tests.

    The tests of APPS are scored so (Hendrycks et al. 2021, arXiv:2105.09938, "test case average"). It pays for programs
    that print the most frequent output whatever they read.
    """

    name = "tests_passed"
    needs_all_tests = True

    def reward(self, rollout: Rollout) -> float:
        """See `_VerifiedReward.reward`."""
        passed = sum(test.verdict is Verdict.ACCEPTED for test in rollout.verified.tests)
        return passed / len(rollout.task.tests)


_STEP = 0.1
_STEPS = {
    Verdict.NO_PROGRAM: 0,
    Verdict.COMPILE_ERROR: 1,
    Verdict.MEMORY_LIMIT: 2,
    Verdict.OUTPUT_LIMIT: 2,
    Verdict.TIME_LIMIT: 2,
    Verdict.RUNTIME_ERROR: 2,
    Verdict.WRONG_ANSWER: 3,
}
"""The steps that a program with this verdict has passed: it is there, it compiles, it runs without an error."""


class Steps(_VerifiedReward):
    """0.1 for a program, 0.2 if it compiles, 0.3 if it also runs without an error, and 1 if it is accepted.

    After Le et al. 2022 (CodeRL, arXiv:2207.01780), whose rewards are -1 (does not compile), -0.6 (runtime error), -0.3
    (failed test) and 1. The verdict is that of the first failed test. A program in a language without a compiler always
    compiles. It pays for programs that do nothing: these never fail with an error.
    """

    name = "steps"

    def reward(self, rollout: Rollout) -> float:
        """See `_VerifiedReward.reward`."""
        verdict = rollout.verified.verdict
        return 1.0 if verdict is Verdict.ACCEPTED else _STEP * _STEPS[verdict]


_FORMAT = 0.1
"""The weight of the format in `Format`."""


class Format(_VerifiedReward):
    """0.9 for an accepted program, and 0.1 for a completion that ends by itself and has exactly one code block.

    Accuracy and format rewards are added as in DeepSeek-AI 2025 (arXiv:2501.12948, section 2.2.2); the weights are our
    choice. Text in `<think>` tags does not count, and a task whose prompt is the beginning of the program needs no code
    block. It pays for a code block with anything in it.
    """

    name = "format"

    def reward(self, rollout: Rollout) -> float:
        """See `_VerifiedReward.reward`."""
        return (1 - _FORMAT) * rollout.verified.accepted + _FORMAT * _has_format(rollout)


def _has_format(rollout: Rollout) -> bool:
    if rollout.finish_reason != "stop":
        return False
    prompt_format = rollout.task.prompt_format
    if prompt_format and prompt_format.stop is not None:
        return True
    return sum(1 for _ in code_blocks(strip_reasoning(rollout.text))) == 1
