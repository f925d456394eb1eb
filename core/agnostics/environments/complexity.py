"""The environments of complexity: naming the class of a program, and writing one within a class (BigO(Bench))."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from msgspec import structs

from agnostics.complexity import (
    ClassFit,
    ComplexityClass,
    MeasurementError,
    MeasurementLimits,
    Quantity,
    complexity_in,
    measure,
)
from agnostics.environments.environment import Environment, Episode, EpisodeLimits, Transition
from agnostics.environments.math import PYTHON
from agnostics.environments.question import ProgramQuestion, Question, answer_verification, question_of
from agnostics.sandbox.session import Session
from agnostics.types.code_extraction import strip_reasoning
from agnostics.types.errors import UsageError
from agnostics.types.language import Language
from agnostics.types.rollout import Action
from agnostics.types.task import Task
from agnostics.types.verification import TestResult, Verdict, Verification

COMPLEXITY_ENVIRONMENTS = ("complexity-prediction", "complexity-generation")
"""The environments whose evaluations have all@k, over the tasks of a family."""
GENERATOR_S = 30.0
"""Seconds of a generator of inputs."""
MAX_INPUT_BYTES = 64 << 20
LARGEST, LARGEST_GENERATED = 1 << 40, 1 << 18
"""The largest sizes of inputs that are n itself, and of those that a generator makes."""
_REQUEST = """\
What is the {quantity} complexity of this {language} program in the worst case? n is {size}.{about}

```{language}
{program}
```

It is one of {classes}. Let your answer end with it."""


class PredictionQuestion(ProgramQuestion):
    """A program, the quantity whose class is asked for, and what n is."""

    quantity: Quantity = "time"
    size: str = "the number that it reads"


class GenerationQuestion(Question):
    """The class within which the program must stay, and its inputs of size n."""

    quantity: Quantity = "time"
    within: ComplexityClass
    generator: str | None = None
    """A Python program that reads n and prints an input of that size; without one the input is n."""
    largest: int | None = None
    """The largest size; 2^18 with a generator, 2^40 without one."""


@dataclass(slots=True)
class ComplexityState:
    """The episode, and the answer or the program of its action."""

    episode: Episode
    answer: str | None = None


class ComplexityPrediction(Environment[ComplexityState]):
    """The last `O(...)` of the answer is compared with the output of the task's first test (section 7.5)."""

    name = "complexity-prediction"
    limits = EpisodeLimits(max_turns=1)

    def message(self, task: Task, language: Language) -> str:
        """See `Environment.message`."""
        question = question_of(task, language, PredictionQuestion)
        return _REQUEST.format(
            quantity=question.quantity,
            language=language.name,
            size=question.size,
            about=f"\n\n{task.statement.strip()}" if task.statement.strip() else "",
            program=question.program.strip("\n"),
            classes=", ".join(ComplexityClass),
        )

    async def start(self, episode: Episode) -> ComplexityState:
        """See `Environment.start`."""
        return ComplexityState(episode)

    async def step(self, state: ComplexityState, action: Action) -> Transition:
        """See `Environment.step`."""
        state.answer = complexity_in(strip_reasoning(action.text))
        return Transition()

    async def verdict(self, state: ComplexityState) -> Verification:
        """See `Environment.verdict`."""
        verdict = Verdict.NO_PROGRAM
        if state.answer is not None:
            right = state.answer == complexity_in(state.episode.task.tests[0].output)
            verdict = Verdict.ACCEPTED if right else Verdict.WRONG_ANSWER
        return answer_verification(state.episode, state.answer, verdict)


class ComplexityGeneration(Environment[ComplexityState]):
    """A program that passes every test and whose measured class is within the one that the task asks for (section 7.5).

    A program is not within the class if the measurement does not tell. Its result is one more test of the verification,
    whose `stderr` names the class. A sandbox that fails while it measures says nothing of the program.
    """

    name = "complexity-generation"
    limits = EpisodeLimits(max_turns=1)

    async def start(self, episode: Episode) -> ComplexityState:
        """See `Environment.start`."""
        return ComplexityState(episode)

    async def step(self, state: ComplexityState, action: Action) -> Transition:
        """See `Environment.step`."""
        state.answer = state.episode.program_in(action)
        return Transition()

    async def verdict(self, state: ComplexityState) -> Verification:
        """See `Environment.verdict`."""
        verification = await state.episode.verify(state.answer)
        if not verification.accepted:
            return verification
        question = question_of(state.episode.task, state.episode.language, GenerationQuestion)
        try:
            fit = await _measured(state.episode, state.answer, question)
        except MeasurementError as error:
            return structs.replace(verification, verdict=Verdict.SANDBOX_ERROR, error=str(error))
        verdict = Verdict.ACCEPTED if fit.is_within(question.within) else Verdict.WRONG_ANSWER
        told = TestResult(verdict, stderr=f"{question.quantity}: {fit}; within {question.within} is wanted")
        return structs.replace(verification, verdict=verdict, tests=(*verification.tests, told))


async def _measured(episode: Episode, program: str | None, question: GenerationQuestion) -> ClassFit:
    """The class of a program's quantity, at sizes up to the largest one of the question."""

    async def run(task: Task) -> Verification:
        return await episode.verify(program, task)

    memory_mb = episode.language.limits_for(episode.task).memory_mb
    largest = question.largest or (LARGEST_GENERATED if question.generator else LARGEST)
    inputs = _Inputs(episode, question.generator).inputs if question.generator else sizes_themselves
    limits = MeasurementLimits(memory_mb=memory_mb, largest=largest)
    return (await measure(run, inputs, limits, [question.quantity])).fit(question.quantity)


async def sizes_themselves(sizes: Sequence[int]) -> list[str]:
    """The inputs of a program that reads n."""
    return [f"{size}\n" for size in sizes]


@dataclass(slots=True)
class _Inputs:
    """The inputs that a generator prints, each made once in a session of its own."""

    episode: Episode
    generator: str
    _session: Session | None = None
    _made: dict[int, str] = field(default_factory=dict)

    async def inputs(self, sizes: Sequence[int]) -> list[str]:
        """The inputs of these sizes. Raises UsageError if the generator fails."""
        for size in sizes:
            if size not in self._made:
                self._made[size] = await self._make(size)
        return [self._made[size] for size in sizes]

    async def _make(self, size: int) -> str:
        self._session = self._session or await self.episode.open_session(PYTHON)
        whose = f"task {self.episode.task.id}: its generator"
        return await self.episode.in_thread(generated_input, self._session, self.generator, size, whose)


def generated_input(session: Session, generator: str, size: int, whose: str) -> str:
    """The input of a size that a Python program prints in a session. Raises UsageError, about `whose`, if it fails."""
    argv, stdin = ("python3", "-c", generator), f"{size}\n".encode()
    made = session.exec(argv, stdin=stdin, run_s=GENERATOR_S, output_bytes=MAX_INPUT_BYTES)
    if made.verdict is not Verdict.ACCEPTED:
        last = made.stderr.decode(errors="replace").strip().rpartition("\n")[2]
        raise UsageError(f"{whose} failed at n = {size}: {made.verdict} {last}")
    return made.stdout.decode(errors="surrogateescape")
