"""The environment of agentic coding: tools in a workspace, and a program that is submitted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from agnostics.environments.environment import Environment, Episode, Transition
from agnostics.environments.public_tests import check_public_tests, with_shown_tests
from agnostics.environments.tool_use import check_command_s, use_tools
from agnostics.environments.tools.announcement import announcement
from agnostics.environments.tools.bash import Bash
from agnostics.environments.tools.files import Create, Edit, Submit
from agnostics.environments.tools.form import CallForm
from agnostics.environments.tools.tool import Tool
from agnostics.sandbox.session import Session
from agnostics.types.language import Language
from agnostics.types.rollout import Action
from agnostics.types.task import Task
from agnostics.types.verification import Verification

TOOLS: tuple[Tool, ...] = (Bash(), Create(), Edit(), Submit())
_REQUEST = """\
{prompt}

{statement}

{form}You have a folder of your own, in which `{execute}` runs a program that is written to {filename}. {tests}\
Write the program, test it, then submit its file."""
_FORM = "The program reads its input from stdin and writes its output to stdout. "
_TESTS = "The folder tests holds {count} of the tests: N.in is an input and N.out the expected output. "
_NO_CALL = "There is neither a call of a tool nor a program. Call a tool; submit ends the task."


@dataclass(slots=True)
class AgenticCodeState:
    """The episode, its session, and the program that was submitted."""

    episode: Episode
    session: Session
    program: str | None = None


@dataclass(frozen=True, slots=True)
class AgenticCode(Environment[AgenticCodeState]):
    """Writes and tests a program with the tools of Code World Model, sections 5.3.1 and 5.3.3, in a workspace.

    The program decides that is submitted, or that stands in an action without a call of a tool. It is verified on all
    tests, in another slot; the workspace holds the public ones alone, as `CodeFeedback.public_tests` counts them.
    """

    name = "agentic-code"

    public_tests: int = 3
    command_s: float = 120.0
    """Seconds of a command."""
    tools: ClassVar[tuple[Tool, ...]] = TOOLS

    def __post_init__(self) -> None:
        check_public_tests(self.public_tests)
        check_command_s(self.command_s)

    def system_prompt(self, language: Language, call_form: CallForm) -> str:  # noqa: ARG002
        """See `Environment.system_prompt`."""
        return announcement(self.tools, call_form)

    def message(self, task: Task, language: Language) -> str:
        """See `Environment.message`."""
        shown = with_shown_tests(task, self.public_tests).tests
        return _REQUEST.format(
            prompt=language.prompt.strip(),
            statement=task.statement.strip(),
            form="" if task.prompt_format else _FORM,
            execute=" && ".join(filter(None, (language.compile, language.execute))),
            filename=language.filename,
            tests=_TESTS.format(count=len(shown)) if shown else "",
        )

    async def start(self, episode: Episode) -> AgenticCodeState:
        """See `Environment.start`."""
        session = await episode.open_session()
        tests = with_shown_tests(episode.task, self.public_tests).tests
        inputs = {f"tests/{number}.in": test.input.encode() for number, test in enumerate(tests, 1)}
        outputs = {f"tests/{number}.out": _ended(test.output).encode() for number, test in enumerate(tests, 1)}
        await episode.in_thread(session.put, inputs | outputs)
        return AgenticCodeState(episode, session)

    async def step(self, state: AgenticCodeState, action: Action) -> Transition:
        """See `Environment.step`."""
        use = await use_tools(state.episode, state.session, action, self.tools, self.command_s)
        if use.submission is not None:
            program = use.submission.decode(errors="replace")
            state.program = state.episode.language.with_tests(state.episode.task, program)
            return Transition(tool_calls=use.records)
        if not use.records:
            return self._without_call(state, action)
        return Transition(observation=state.episode.tool(use.output), tool_calls=use.records)

    async def verdict(self, state: AgenticCodeState) -> Verification:
        """See `Environment.verdict`."""
        return await state.episode.verify(state.program)

    def _without_call(self, state: AgenticCodeState, action: Action) -> Transition:
        """What follows from an action without a call: its program is the answer, if it holds one."""
        state.program = state.episode.program_in(action)
        return Transition() if state.program is not None else Transition(observation=state.episode.user(_NO_CALL))


def _ended(text: str) -> str:
    """The text with a line feed at its end, as programs write it: so that `diff` shows no difference."""
    return text if text.endswith("\n") else f"{text}\n"
