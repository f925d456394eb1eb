"""Sample and verify: every answer goes to the verifier as soon as it ends, while others are still being sampled."""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

from agnostics.errors import AgnosticsError
from agnostics.language import Language
from agnostics.rollout.engine import Answer, Engine, Prompt, Sampling, seed_for
from agnostics.task import Task
from agnostics.train.curriculum import Question
from agnostics.train.interrupt import Interrupts
from agnostics.train.ranks import ALONE, Ranks
from agnostics.trajectory import Trajectory
from agnostics.verification import Verification
from agnostics.verify import Verifier

Outcome = tuple[Answer, str, Verification]
"""An answer as tokens and as text, and what became of its program."""

_PATIENCE_S = 900.0
"""How long the verifier may take for the programs still outstanding; its own limits are far below."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """One answer to a question: what was sampled, as tokens and as text, and what became of its program."""

    task: Task
    sample: int
    trajectory: Trajectory
    answer: Answer
    text: str
    verification: Verification


@dataclass(frozen=True, slots=True)
class Round:
    """The attempts at some questions, one group for each; seconds spent sampling, and waiting for verdicts after."""

    groups: list[list[Attempt]]
    sampling_s: float
    waiting_s: float

    @property
    def attempts(self) -> list[Attempt]:
        """All attempts, group by group."""
        return [attempt for group in self.groups for attempt in group]

    def followed_by(self, other: Round) -> Round:
        """This round and `other`, sampled after it, as one."""
        seconds = (self.sampling_s + other.sampling_s, self.waiting_s + other.waiting_s)
        return Round(self.groups + other.groups, *seconds)


@dataclass(frozen=True, slots=True)
class Workshop:
    """What it takes to attempt a task: an engine, a tokenizer, a language, a verifier; every rank has its own."""

    engine: Engine
    tokenizer: Any
    language: Language
    verifier: Verifier
    ranks: Ranks = ALONE
    interrupts: Interrupts = field(default_factory=Interrupts)

    def attempt(self, questions: Sequence[Question], samples: int, sampling: Sampling, seed: str) -> Round:
        """Answer each question `samples` times and verify every answer. `seed` decides the tokens.

        Every rank attempts its share and returns all attempts.
        """
        started = time.monotonic()
        asked = [(question, sample) for question in questions for sample in range(samples)]
        prompts = [Prompt(question.prompt, seed_for(seed, question.task.id, sample)) for question, sample in asked]
        tasks = [question.task for question, _ in asked]
        share = self.ranks.share(tasks), self.ranks.share(prompts)
        mine, sampled = self.ranks.checked(lambda: self._outcomes(*share, sampling))
        attempts = [
            Attempt(question.task, sample, outcome[0].after(prompt), *outcome)
            for (question, sample), prompt, outcome in zip(asked, prompts, self.ranks.joined_shares(mine), strict=True)
        ]
        groups = [attempts[first : first + samples] for first in range(0, len(attempts), samples)]
        return Round(groups, sampled - started, time.monotonic() - sampled)

    def _outcomes(
        self, tasks: Sequence[Task], prompts: Sequence[Prompt], sampling: Sampling
    ) -> tuple[list[Outcome], float]:
        """What comes of each prompt here, and when the last was answered."""
        ended: dict[int, tuple[Answer, str, Future[Verification]]] = {}
        with self.interrupts.allowed():
            for index, answer in self.engine.generate(prompts, sampling):
                text = self.tokenizer.decode(answer.token_ids, skip_special_tokens=True)
                ended[index] = (answer, text, self._submit(text, tasks[index]))
            sampled = time.monotonic()
            in_order = [ended[index] for index in range(len(prompts))]
            return [(answer, text, _result(verdict, sampled)) for answer, text, verdict in in_order], sampled

    def _submit(self, text: str, task: Task) -> Future[Verification]:
        return self.verifier.submit(self.language, self.language.program_in(text), task)


def _result(verdict: Future[Verification], since: float) -> Verification:
    try:
        return verdict.result(timeout=max(0.0, since + _PATIENCE_S - time.monotonic()))
    except TimeoutError:
        raise AgnosticsError(
            f"the verifier has not answered for {_PATIENCE_S:.0f} s; run: agn doctor, then agn run --resume"
        ) from None
