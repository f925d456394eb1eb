"""The environment of code with feedback: a program, its verdict on the public tests, another try."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, get_args

from agnostics.environments.environment import Environment, Episode, EpisodeLimits, Transition
from agnostics.environments.public_tests import check_public_tests, with_public_tests, with_shown_tests
from agnostics.types.rollout import Action
from agnostics.types.task import Task, Test
from agnostics.types.verification import TestResult, Verdict, Verification

Feedback = Literal["difference", "verdict", "none"]

_INPUT, _OUTPUT = 600, 300
"""The most characters of a test that are shown."""
_ADDRESS = re.compile(r"0x[0-9a-fA-F]{6,16}")
"""An address in memory, which differs each time that a program ends with the same error."""
_MEANING = {
    Verdict.NO_PROGRAM: "holds no program",
    Verdict.COMPILE_ERROR: "does not compile",
    Verdict.MEMORY_LIMIT: "takes more memory than is allowed",
    Verdict.OUTPUT_LIMIT: "prints more than is allowed",
    Verdict.TIME_LIMIT: "takes longer than is allowed",
    Verdict.RUNTIME_ERROR: "ends with an error",
    Verdict.WRONG_ANSWER: "prints a wrong output",
}


@dataclass(slots=True)
class CodeFeedbackState:
    """The episode, and the program of its last action."""

    episode: Episode
    public: Task
    program: str | None = None
    best: float = 0.0
    """The largest share of public tests that a program passed before it failed."""

    def progress(self, verification: Verification) -> float:
        """The share of public tests that a program passes, before it fails, beyond the best one before it."""
        passed = sum(test.verdict is Verdict.ACCEPTED for test in verification.tests)
        before, self.best = self.best, max(self.best, passed / len(self.public.tests))
        return self.best - before


@dataclass(frozen=True, slots=True)
class CodeFeedback(Environment[CodeFeedbackState]):
    """The last program decides, on all tests; before, each is run on the public ones (Code World Model, section 5.3.2).

    An episode ends with a program that passes the public tests, which are the first `public_tests` of the task, at most
    half of them. `feedback` is what the policy is told of another one: the verdict with the first `difference`, the
    `verdict` alone, or `none`, which is the control: only that it may try again. A task's only test is never shown.
    """

    name = "code-feedback"
    limits = EpisodeLimits(max_turns=3)

    public_tests: int = 3
    feedback: Feedback = "difference"
    progress_reward: float = 0.0
    """The reward of a turn for the share of public tests that its program passes beyond the best one before it."""

    def __post_init__(self) -> None:
        if self.feedback not in get_args(Feedback):
            raise ValueError(f"feedback is one of {', '.join(get_args(Feedback))}, not {self.feedback!r}")
        check_public_tests(self.public_tests)

    async def start(self, episode: Episode) -> CodeFeedbackState:
        """See `Environment.start`."""
        return CodeFeedbackState(episode, self.public(episode.task))

    async def step(self, state: CodeFeedbackState, action: Action) -> Transition:
        """See `Environment.step`."""
        state.program = state.episode.program_in(action)
        if action.is_last:
            return Transition()
        verification = await state.episode.verify(state.program, state.public)
        reward = self.progress_reward * state.progress(verification)
        told = self.feedback_on(with_shown_tests(state.episode.task, self.public_tests), verification)
        observation = state.episode.user(told) if told else None
        return Transition(observation=observation, verification=verification, reward=reward)

    async def verdict(self, state: CodeFeedbackState) -> Verification:
        """See `Environment.verdict`."""
        return await state.episode.verify(state.program)

    def public(self, task: Task) -> Task:
        """The task with its public tests alone."""
        return with_public_tests(task, self.public_tests)

    def feedback_on(self, task: Task, verification: Verification) -> str | None:
        """What the policy is told of a program with this verification on its public tests; None if it passes them.

        `task` has those that may be shown.
        """
        if verification.verdict in (Verdict.ACCEPTED, Verdict.SANDBOX_ERROR):
            return None
        again = "Write the whole program again."
        if self.feedback == "none":
            return again
        told = [f"The program {_MEANING[verification.verdict]}."]
        if self.feedback == "difference":
            told += _details(verification, task)
        return "\n".join([*told, again])


def _details(verification: Verification, task: Task) -> list[str]:
    """What the compiler said, or the first failed test with the program's output."""
    if verification.verdict is Verdict.COMPILE_ERROR and verification.compile:
        return [_cut(verification.compile.message, _INPUT)]
    failed = zip(task.tests, verification.tests, strict=False)
    for test, result in failed:
        if result.verdict not in (Verdict.ACCEPTED, Verdict.SKIPPED):
            return _failed_test(test, result)
    return []


def _failed_test(test: Test, result: TestResult) -> list[str]:
    printed = result.stdout if result.verdict is Verdict.WRONG_ANSWER else result.stderr or result.stdout
    printed = _ADDRESS.sub("0x...", printed)
    return [
        f"Input:\n{_cut(test.input, _INPUT)}",
        f"Expected output:\n{_cut(test.output, _OUTPUT)}",
        f"The program printed:\n{_cut(printed, _OUTPUT)}",
    ]


def _cut(text: str, length: int) -> str:
    text = text.strip()
    return text if len(text) <= length else f"{text[:length]} ..."
