"""The environment of trace prediction: what a program does is predicted, not written."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass, field
from typing import get_args

from agnostics.environments.environment import Environment, Episode, EpisodeLimits, Transition
from agnostics.environments.trace_prompts import Mode, prompt_for
from agnostics.environments.traced_program import NoTruth, TracedProgram, program_of
from agnostics.traces.events import Kind
from agnostics.traces.measures import trace_measures
from agnostics.traces.prediction import Prediction, read_prediction, unfenced
from agnostics.traces.python import traceable
from agnostics.types.code_extraction import strip_reasoning
from agnostics.types.language import Language
from agnostics.types.rollout import Action
from agnostics.types.task import Task
from agnostics.types.verification import TestResult, Verdict, Verification

_OPEN, _CLOSE = "[ANSWER]", "[/ANSWER]"
_EQUAL = re.compile(r"\)\s*+==")
_STORED = 4096
"""Characters of a predicted output that are stored."""


@dataclass(slots=True)
class PredictionState:
    """The episode, the program, and what is predicted of it."""

    episode: Episode
    program: TracedProgram
    output: str | None = None
    trace: Prediction | None = None
    metrics: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TracePrediction(Environment[PredictionState]):
    """A program's output is predicted, alone or as the end of its trace (Code World Model, section 7.3).

    The predicted output decides: a literal with the value that a call returns, or the text that a program prints. In
    the mode `trace` the measures of `agnostics.traces.measures` are those of the frames, against the trace that the
    program has in the sandbox; without a whole one the verdict is `sandbox_error`.
    """

    name = "trace-prediction"
    limits = EpisodeLimits(max_turns=1, max_context_tokens=1 << 30)
    """The model's context is the limit."""

    mode: Mode = "trace"
    """What is asked for: the `output` alone, `reasoning` in words before it, the last `step`, or the whole `trace`."""

    def __post_init__(self) -> None:
        if self.mode not in get_args(Mode):
            raise ValueError(f"mode is one of {', '.join(get_args(Mode))}, not {self.mode!r}")

    def message(self, task: Task, language: Language) -> str:
        """See `Environment.message`. Raises UsageError for a task without a program in the language."""
        return prompt_for(program_of(task, language), task.tests[0].input, self.mode)

    async def start(self, episode: Episode) -> PredictionState:
        """See `Environment.start`."""
        return PredictionState(episode, program_of(episode.task, episode.language))

    async def step(self, state: PredictionState, action: Action) -> Transition:
        """See `Environment.step`."""
        text = strip_reasoning(action.text)
        if self.mode in ("output", "reasoning"):
            state.output = answer_in(text, state.program.call, needs_tag=self.mode == "reasoning")
            return Transition()
        given = state.program.given
        start: Kind = "return" if self.mode == "step" else "line" if given else "call"
        frames = unfenced(text.strip()).removeprefix(state.program.context_text)
        state.trace = read_prediction(frames, start).after(given)
        state.output = state.trace.output
        return Transition()

    async def verdict(self, state: PredictionState) -> Verification:
        """See `Environment.verdict`."""
        started_s = time.monotonic()
        try:
            await self._measure(state)
        except NoTruth as error:
            return _verification(state, Verdict.SANDBOX_ERROR, started_s, str(error))
        if state.output is None:
            return _verification(state, Verdict.NO_PROGRAM, started_s)
        is_right = state.program.same_output(state.output, state.episode.task.tests[0].output)
        return _verification(state, Verdict.ACCEPTED if is_right else Verdict.WRONG_ANSWER, started_s)

    async def _measure(self, state: PredictionState) -> None:
        """Measure the trace, in the mode that asks for it."""
        if self.mode != "trace" or state.trace is None:
            return
        episode, test = state.episode, state.episode.task.tests[0]
        run = await episode.trace(state.program.executable, test.input, traceable(episode.language))
        true = state.program.frames(run, test.output)
        state.metrics = trace_measures(state.trace, true, episode.count_tokens)


def answer_in(text: str, call: str | None, *, needs_tag: bool) -> str | None:
    """The output in the last [ANSWER] of a completion; without the tag all of it, if the tag is not needed.

    Of an assertion about `call`, what it is said to be equal to. None if there is nothing.
    """
    _, tag, answer = text.rpartition(_OPEN)
    if needs_tag and not tag:
        return None
    answer = unfenced(answer.partition(_CLOSE)[0].strip())
    return (_asserted(answer, call) if call else answer) or None


def _asserted(answer: str, call: str) -> str:
    """What an assertion says that a call is equal to: the call of the prompt, or another spelling of it."""
    _, is_there, value = answer.partition(f"{call} ==")
    if not is_there and answer.startswith("assert ") and (found := _EQUAL.search(answer)):
        value = answer[found.end() :]
    return (value or answer).strip()


def _verification(state: PredictionState, verdict: Verdict, started_s: float, error: str | None = None) -> Verification:
    episode, output, wall_ms = state.episode, state.output, (time.monotonic() - started_s) * 1e3
    test = Verdict.SKIPPED if verdict is Verdict.NO_PROGRAM else verdict
    shown = (output or "")[:_STORED]
    return Verification(
        task_id=episode.task.id,
        language=episode.language.name,
        program=output,
        verdict=verdict,
        tests=(TestResult(test, wall_ms=wall_ms, stdout=shown, truncated=shown != (output or "")),),
        compile=None,
        sandbox=episode.sandbox,
        attempts=0 if output is None else 1,
        wall_ms=wall_ms,
        error=error,
        metrics=state.metrics,
    )
