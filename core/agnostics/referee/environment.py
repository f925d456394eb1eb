"""The environment of an agent session: one problem under the rules of a protocol, with the referee's replies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar

from agnostics.environments.environment import Environment, Episode, EpisodeLimits, Transition
from agnostics.environments.tools.announcement import announcement
from agnostics.environments.tools.call import MalformedCall, ToolCall, parse_calls
from agnostics.environments.tools.form import CallForm
from agnostics.environments.tools.tool import ToolInterface
from agnostics.referee.grading import data_of_run, data_of_submission, task_of_run, why_too_large
from agnostics.referee.prompt import runs_rule, submission_rule
from agnostics.referee.protocol import Protocol, load_protocol
from agnostics.referee.replies import Reply, refusal_text, run_reply, submission_reply
from agnostics.referee.state import Event, Kind, Reason, SessionState
from agnostics.types.errors import UsageError
from agnostics.types.language import Language
from agnostics.types.rollout import Action, ToolCallRecord
from agnostics.types.task import Task
from agnostics.types.verification import Verdict, Verification
from agnostics.util.text import plural

_SEPARATOR = "======="
_NO_PROGRAM = "There is no program in the message."
_SANDBOX_FAILED = "error: the sandbox failed"


class RunTool(ToolInterface):
    """A run on an input of the model's choice."""

    name = "run"
    description = "Runs a program on an input of your choice, and shows what it prints."
    parameters: ClassVar[Mapping[str, str]] = {
        "program": "The whole program.",
        "input": "The text that it reads from stdin; it may be empty.",
    }
    usage = f"[program]\n{_SEPARATOR}\n[input]"

    def arguments_of(self, content: str) -> Mapping[str, str]:
        """See `ToolInterface.arguments_of`; without a separator there is no input."""
        program, _, stdin = content.partition(f"\n{_SEPARATOR}\n")
        return {"program": program.removesuffix(f"\n{_SEPARATOR}"), "input": stdin}


class SubmitTool(ToolInterface):
    """A submission to the hidden tests."""

    name = "submit"
    description = "Submits a program to the hidden tests."
    parameters: ClassVar[Mapping[str, str]] = {"program": "The whole program."}
    usage = "[program]"

    def arguments_of(self, content: str) -> Mapping[str, str]:
        """See `ToolInterface.arguments_of`."""
        return {"program": content}


@dataclass(slots=True)
class SessionEpisode:
    """The episode, the session of its problem, and the verification that decides it so far.

    That is the one of the last submission, or of an operation whose sandbox failed.
    """

    episode: Episode
    session: SessionState
    verification: Verification | None = None

    @property
    def is_over(self) -> bool:
        """Whether the problem is final, or the sandbox has failed."""
        failed = self.verification is not None and self.verification.verdict is Verdict.SANDBOX_ERROR
        return failed or self.session.all_done

    async def run(self, program: str, stdin: str) -> Reply:
        """Run a program, as `Referee.run` does."""
        if reason := self.session.why_no_run() or why_too_large(program, stdin):
            return self._refused("run", reason)
        verification = await self.episode.verify(program, task_of_run(self.episode.task, stdin))
        if verification.verdict is Verdict.SANDBOX_ERROR:
            return self._failed(verification)
        self._add("run", data_of_run(stdin, verification))
        return run_reply(self.session, verification)

    async def submit(self, program: str) -> Reply:
        """Grade a program, as `Referee.submit` does."""
        problem = self.episode.task.id
        if reason := self.session.why_no_submit(problem) or why_too_large(program):
            return self._refused("submit", reason)
        verification = await self.episode.verify(program, every_test=True)
        if verification.verdict is Verdict.SANDBOX_ERROR:
            return self._failed(verification)
        self.verification = verification
        self._add("submit", data_of_submission(verification))
        return submission_reply(self.session, problem, self.session.problems[0].submissions[-1])

    def _add(self, kind: Kind, data: Mapping[str, Any]) -> None:
        self.session = self.session.after(Event(self.session.sequence, kind, 0, data))

    def _refused(self, operation: str, reason: Reason) -> Reply:
        self._add("refused", {"operation": operation, "reason": reason})
        return Reply("refused", refusal_text(reason))

    def _failed(self, verification: Verification) -> Reply:
        self.verification = verification
        return Reply("error", _SANDBOX_FAILED)


@cache
def _protocol(name: str) -> Protocol:
    return load_protocol(name)


@dataclass(frozen=True, slots=True)
class ProtocolSession(Environment[SessionEpisode]):
    """One problem of an agent session under a protocol: runs on inputs of the policy's own, and submissions.

    The rules are those of `agnostics.referee.state`. There is no box: a program is an argument of the tools `run` and
    `submit`, and an action with a program but without a call is a submission. The last submission decides; an episode
    whose sandbox fails has no reward.
    """

    name = "session"
    limits = EpisodeLimits(max_turns=16)

    protocol: str = "primary"
    """The rules: the name of a protocol, or a YAML file."""

    def __post_init__(self) -> None:
        _protocol(self.protocol)

    @property
    def rules(self) -> Protocol:
        """The protocol."""
        return _protocol(self.protocol)

    @property
    def tools(self) -> tuple[ToolInterface, ...]:
        """The tools; none if the protocol allows no runs, because a program alone is a submission."""
        return () if self.rules.runs == 0 else (RunTool(), SubmitTool())

    def system_prompt(self, language: Language, call_form: CallForm) -> str:
        """See `Environment.system_prompt`."""
        tools = [announcement(self.tools, call_form)] if self.tools else []
        return "\n\n".join([*_rules(self.rules, language), *tools])

    def message(self, task: Task, language: Language) -> None:  # noqa: ARG002
        """See `Environment.message`. Raises UsageError for a task that completes a program."""
        if task.prompt_format:
            raise UsageError(f"task {task.id!r} takes a part of a program; a session needs whole programs")

    async def start(self, episode: Episode) -> SessionEpisode:
        """See `Environment.start`."""
        session = SessionState.start(self.rules, [episode.task.id])
        return SessionEpisode(episode, session.after(Event(0, "fetch", 0)))

    async def step(self, state: SessionEpisode, action: Action) -> Transition:
        """See `Environment.step`."""
        calls = parse_calls(action.text, state.episode.call_form, self.tools) if self.tools else []
        if not calls:
            return await self._without_call(state, action)
        before, records = state.verification, list[ToolCallRecord]()
        for call in calls:
            records.append(await _carry_out(state, call))
            if state.is_over:
                break
        told = state.episode.tool("\n\n".join(record.output for record in records))
        return Transition(
            observation=None if state.is_over else told,
            verification=None if state.verification is before else state.verification,
            tool_calls=tuple(records),
        )

    async def verdict(self, state: SessionEpisode) -> Verification:
        """See `Environment.verdict`."""
        return state.verification or await state.episode.verify(None)

    async def _without_call(self, state: SessionEpisode, action: Action) -> Transition:
        """What follows from an action without a call: its program is submitted."""
        program = state.episode.program_in(action)
        if program is None:
            return Transition(observation=state.episode.user(_NO_PROGRAM))
        reply = await state.submit(program)
        told = state.episode.user(reply.text)
        return Transition(observation=None if state.is_over else told, verification=state.verification)


async def _carry_out(state: SessionEpisode, call: ToolCall | MalformedCall) -> ToolCallRecord:
    if isinstance(call, MalformedCall):
        return ToolCallRecord(tool="", arguments={}, output=f"error: {call.reason}", ok=False)
    program = call.arguments["program"]
    is_run = call.name == RunTool.name
    reply = await (state.run(program, call.arguments["input"]) if is_run else state.submit(program))
    return ToolCallRecord(tool=call.name, arguments=call.arguments, output=reply.text, ok=reply.ok)


def _rules(protocol: Protocol, language: Language) -> Iterator[str]:
    has_runs = protocol.runs != 0
    runs = f"You may run programs {runs_rule(protocol)}. " if has_runs else ""
    without_call = " and no call of a tool" if has_runs else ""
    yield (
        f"Solve the problem with a program in {language.name}. Its tests are hidden. {runs}You have "
        f"{plural(protocol.submissions, 'submission')}; the problem is solved if one passes all hidden tests. "
        f"{submission_rule(protocol)} A message with a program{without_call} is a submission."
    )
    if protocol.advice.strip():
        yield protocol.advice.strip()
