"""Sample and verify: every answer goes to the verifier as soon as it ends, while others are still being sampled."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from agnostics.inference.engine import Answer, Engine, Prompt, Sampling, seed_for
from agnostics.profiling.spans import Timeline
from agnostics.rollout.engine_loop import Sampler
from agnostics.rollout.task_sampler import Question
from agnostics.types.errors import AgnosticsError
from agnostics.types.language import Language
from agnostics.types.rollout import Trajectory
from agnostics.types.task import Task
from agnostics.types.verification import Verification
from agnostics.util.distributed import ALONE, Ranks
from agnostics.util.signals import Interrupts
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
    """The attempts at some questions, one group for each.

    `sampling_s` is the time from the question to the last answer, `waiting_s` that from there to the last verdict.
    """

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
    """What it takes to attempt a task: a sampler, a tokenizer, a language, a verifier; every rank has its own."""

    sampler: Sampler
    tokenizer: Any
    language: Language
    verifier: Verifier
    timeline: Timeline
    ranks: Ranks = ALONE
    interrupts: Interrupts = field(default_factory=Interrupts)

    def attempt(self, questions: Sequence[Question], samples: int, sampling: Sampling, seed: str) -> Round:
        """Answer each question `samples` times and verify every answer. `seed` decides the tokens.

        Every rank attempts its share and returns all attempts.
        """
        return self.begin(questions, samples, sampling, seed).result()

    def begin(self, questions: Sequence[Question], samples: int, sampling: Sampling, seed: str) -> Begun:
        """Begin to attempt, behind whatever has begun before; see `attempt`."""
        return Begun(self, questions, samples, sampling, seed)

    def answer(self, questions: Sequence[Question], sampling: Sampling, seed: str) -> list[Trajectory]:
        """One answer to each question, which is not verified."""
        prompts = [Prompt(question.prompt, seed_for(seed, question.task.id)) for question in questions]
        share, ended = self.ranks.share(prompts), dict[int, Answer]()
        self.ranks.checked(lambda: self.wait(self.sampler.ask(share, sampling, ended.__setitem__)))
        answers = self.ranks.joined_shares([ended[index] for index in range(len(share))])
        return [answer.after(prompt) for prompt, answer in zip(prompts, answers, strict=True)]

    def wait(self, sampled: Future[None]) -> None:
        """Wait for answers; an interrupt ends it."""
        with self.interrupts.allowed():
            self.sampler.wait(sampled, "answer")

    def decode(self, answer: Answer) -> str:
        """An answer as text."""
        text: str = self.tokenizer.decode(answer.token_ids, skip_special_tokens=True)
        return text

    def submit(self, program: str | None, task: Task) -> Future[Verification]:
        """Have a program verified."""
        span = self.timeline.begin("verification", task.id)
        verdict = self.verifier.submit(self.language, program, task)
        verdict.add_done_callback(lambda _: self.timeline.end(span))
        return verdict


@contextmanager
def open_workshop(
    engine: Engine,
    tokenizer: Any,
    language: Language,
    verifier: Verifier,
    ranks: Ranks = ALONE,
    interrupts: Interrupts | None = None,
) -> Iterator[Workshop]:
    """A workshop whose sampler drives `engine`."""
    timeline = Timeline()
    with Sampler(engine, timeline) as sampler:
        yield Workshop(sampler, tokenizer, language, verifier, timeline, ranks, interrupts or Interrupts())


class Begun:
    """Attempts on their way: answers that are being sampled, programs that are being verified. A rank has its share."""

    def __init__(
        self, workshop: Workshop, questions: Sequence[Question], samples: int, sampling: Sampling, seed: str
    ) -> None:
        self._workshop, self._samples = workshop, samples
        self._asked = [(question, sample) for question in questions for sample in range(samples)]
        prompts = [
            Prompt(question.prompt, seed_for(seed, question.task.id, sample)) for question, sample in self._asked
        ]
        self._prompts, self._mine = prompts, workshop.ranks.share(range(len(prompts)))
        # Prompts of like length stand together, so that an engine which pads pads little.
        self._order = sorted(self._mine, key=lambda index: len(prompts[index].token_ids))
        self._ended: dict[int, tuple[Answer, str, Future[Verification]]] = {}
        self._verdicts: dict[tuple[int, str | None], Future[Verification]] = {}
        self._begun_s = self._sampled_s = time.monotonic()
        self._sampled = workshop.sampler.ask([prompts[index] for index in self._order], sampling, self._answered)

    def result(self) -> Round:
        """Wait until every answer is sampled and verified, on all ranks."""
        ranks = self._workshop.ranks
        outcomes = ranks.joined_shares(ranks.checked(self._outcomes))
        attempts = [
            Attempt(question.task, sample, outcome[0].after(prompt), *outcome)
            for (question, sample), prompt, outcome in zip(self._asked, self._prompts, outcomes, strict=True)
        ]
        groups = [attempts[first : first + self._samples] for first in range(0, len(attempts), self._samples)]
        return Round(groups, self._sampled_s - self._begun_s, time.monotonic() - self._sampled_s)

    def _outcomes(self) -> list[Outcome]:
        """What comes of this rank's share."""
        self._workshop.wait(self._sampled)
        with self._workshop.interrupts.allowed():
            mine = [self._ended[index] for index in self._mine]
            return [(answer, text, _result(verdict, self._sampled_s)) for answer, text, verdict in mine]

    def _answered(self, place: int, answer: Answer) -> None:
        """Send an answer to the verifier as soon as it ends; called on the sampler's thread."""
        index = self._order[place]
        text = self._workshop.decode(answer)
        self._ended[index] = (answer, text, self._verdict(index, text))
        self._sampled_s = time.monotonic()

    def _verdict(self, index: int, text: str) -> Future[Verification]:
        """What becomes of the program in `text`; one that several answers of a group hold runs once."""
        task = self._asked[index][0].task
        program = self._workshop.language.program_for(task, text)
        key = (index // self._samples, program)
        if key not in self._verdicts:
            self._verdicts[key] = self._workshop.submit(program, task)
        return self._verdicts[key]


def _result(verdict: Future[Verification], since: float) -> Verification:
    try:
        return verdict.result(timeout=max(0.0, since + _PATIENCE_S - time.monotonic()))
    except TimeoutError:
        raise AgnosticsError(
            f"the verifier has not answered for {_PATIENCE_S:.0f} s; run: agn doctor, then agn run --resume"
        ) from None
