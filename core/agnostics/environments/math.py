"""The environments of mathematics: a final answer, without and with a Python tool."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import ClassVar

from agnostics.environments.environment import Environment, Episode, EpisodeLimits, Transition
from agnostics.environments.tool_use import check_command_s, use_tools
from agnostics.environments.tools.announcement import announcement
from agnostics.environments.tools.form import CallForm
from agnostics.environments.tools.python import Python
from agnostics.environments.tools.tool import Tool
from agnostics.math import Equality, final_answer
from agnostics.math.packages import check_packages
from agnostics.sandbox.session import Session
from agnostics.types.language import Language
from agnostics.types.rollout import Action
from agnostics.types.task import Task
from agnostics.types.verification import TestResult, Verdict, Verification

PYTHON = Language(
    name="python-tool",
    prompt="",
    filename="main.py",
    execute="python3 main.py",
    install="apt-get install -y --no-install-recommends python3",
)
"""The sandbox of the tool."""
_REQUEST = "{statement}\n\nPut your final answer within \\boxed{{}}, once."
_VERDICTS = {
    Equality.EQUAL: Verdict.ACCEPTED,
    Equality.DIFFERENT: Verdict.WRONG_ANSWER,
    Equality.UNKNOWN: Verdict.SANDBOX_ERROR,
}


@dataclass(slots=True)
class MathState:
    """The episode, the session of its tool, and the final answer."""

    episode: Episode
    session: Session | None = None
    answer: str | None = None


class Math(Environment[MathState]):
    """The answer in the only box decides, compared with the output of the task's first test (section 5.3.4 and 16).

    The comparison is that of `agnostics.math`. One that is stopped at a limit says nothing of the answer: its verdict
    is `sandbox_error`, which leaves the episode out of the loss.
    """

    name = "math"
    limits = EpisodeLimits(max_turns=1)

    def check_requirements(self) -> None:
        """See `Environment.check_requirements`."""
        check_packages()

    def message(self, task: Task, language: Language) -> str:  # noqa: ARG002
        """See `Environment.message`."""
        return _REQUEST.format(statement=task.statement.strip())

    async def start(self, episode: Episode) -> MathState:
        """See `Environment.start`."""
        return MathState(episode)

    async def step(self, state: MathState, action: Action) -> Transition:
        """See `Environment.step`."""
        state.answer = final_answer(action.text)
        return Transition()

    async def verdict(self, state: MathState) -> Verification:
        """See `Environment.verdict`."""
        started_s, task = time.monotonic(), state.episode.task
        verdict, error = Verdict.NO_PROGRAM, None
        if state.answer is not None:
            equality = await state.episode.compare_answers(state.answer, task.tests[0].output)
            verdict = _VERDICTS[equality]
            error = "the comparison of the answers was stopped at a limit" if equality is Equality.UNKNOWN else None
        wall_ms = (time.monotonic() - started_s) * 1e3
        return Verification(
            task_id=task.id,
            language=state.episode.language.name,
            program=state.answer,
            verdict=verdict,
            tests=(TestResult(Verdict.SKIPPED if verdict is Verdict.NO_PROGRAM else verdict, wall_ms=wall_ms),),
            compile=None,
            sandbox=state.episode.sandbox,
            attempts=0 if state.answer is None else 1,
            wall_ms=wall_ms,
            error=error,
        )


@dataclass(frozen=True, slots=True)
class MathWithPython(Math):
    """As `Math`, with a tool that runs Python programs; an action without a call is the answer."""

    name = "math-python"
    limits = EpisodeLimits(max_turns=8)
    """The paper's limit of calls is not in its text; this one is ours."""

    command_s: float = 10.0
    """Seconds of a program."""
    tools: ClassVar[tuple[Tool, ...]] = (Python(),)

    def __post_init__(self) -> None:
        check_command_s(self.command_s)

    def system_prompt(self, language: Language, call_form: CallForm) -> str:  # noqa: ARG002
        """See `Environment.system_prompt`."""
        return announcement(self.tools, call_form)

    async def start(self, episode: Episode) -> MathState:
        """See `Environment.start`."""
        return MathState(episode, await episode.open_session(PYTHON))

    async def step(self, state: MathState, action: Action) -> Transition:
        """See `Environment.step`."""
        assert state.session
        use = await use_tools(state.episode, state.session, action, self.tools, self.command_s)
        if not use.records:
            state.answer = final_answer(action.text)
            return Transition()
        return Transition(observation=state.episode.tool(use.output), tool_calls=use.records)
