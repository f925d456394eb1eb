"""What an environment has for an episode: verification, sessions, and messages in the policy's tokens."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass, field
from functools import partial
from typing import ParamSpec, TypeVar

from agnostics.environments.environment import EpisodeLimits, Observation
from agnostics.environments.tools.form import CallForm
from agnostics.math import Equality
from agnostics.rollout.conversation import ConversationRenderer
from agnostics.rollout.episode_sandboxes import EpisodeSandboxes
from agnostics.rollout.prompts import call_form_of
from agnostics.rollout.rollout_verifier import RolloutVerifier
from agnostics.sandbox.session import Session
from agnostics.traces.runner import TracedRun
from agnostics.types.language import Language
from agnostics.types.rollout import Action
from agnostics.types.task import Task
from agnostics.types.verification import Verdict, Verification

Result = TypeVar("Result")
Parameters = ParamSpec("Parameters")


@dataclass(frozen=True, slots=True)
class EpisodeThreads:
    """The threads of all episodes: `tools` for what takes long, and one for `submitting` programs, which blocks while
    the sandbox's queue is full."""

    tools: Executor
    submitting: Executor

    def shutdown(self) -> None:
        """End the threads, without waiting for what they do."""
        for executor in (self.tools, self.submitting):
            executor.shutdown(wait=False, cancel_futures=True)


Verifications = dict[tuple[str | None, bool], asyncio.Future[Verification]]
"""The verifications of a task's programs, which the episodes of a group share: by the program, and whether it stops at
a failed test."""


@dataclass(slots=True)
class RunningEpisode:
    """An episode while it is played; see `agnostics.environments.environment.Episode`."""

    task: Task
    limits: EpisodeLimits
    verifier: RolloutVerifier
    stop_on_failure: bool
    verifications: Verifications
    renderer: ConversationRenderer | None
    sandboxes: EpisodeSandboxes
    threads: EpisodeThreads
    progressed: Callable[[], None]
    """Called on the loop's thread at the end of each function that took long, so that others know it is alive."""
    _open: list[Session] = field(default_factory=list)

    @property
    def language(self) -> Language:
        """See `Episode.language`."""
        return self.verifier.language

    @property
    def call_form(self) -> CallForm:
        """See `Episode.call_form`."""
        return call_form_of(self.renderer.tokenizer) if self.renderer else "text"

    @property
    def sandbox(self) -> str:
        """See `Episode.sandbox`."""
        return self.verifier.verifier.mode

    def program_in(self, action: Action) -> str | None:
        """See `Episode.program_in`."""
        return self.verifier.program_in(self.task, action.text)

    def user(self, text: str) -> Observation:
        """See `Episode.user`."""
        return self._observation(text, "user")

    def tool(self, text: str) -> Observation:
        """See `Episode.tool`."""
        return self._observation(text, "tool")

    async def verify(self, program: str | None, task: Task | None = None, *, every_test: bool = False) -> Verification:
        """See `Episode.verify`."""
        stops = self.stop_on_failure and not every_test
        if task is not None:
            return await self._verify(program, task, stops)
        key = (program, stops)
        if key not in self.verifications:
            self.verifications[key] = asyncio.ensure_future(self._verify(program, self.task, stops))
        return await asyncio.shield(self.verifications[key])

    async def _verify(self, program: str | None, task: Task, stop_on_failure: bool) -> Verification:
        submit = partial(self.verifier.submit, program, task, stop_on_failure=stop_on_failure)
        submitted = await asyncio.get_running_loop().run_in_executor(self.threads.submitting, submit)
        return await asyncio.wrap_future(submitted)

    async def compare_answers(self, prediction: str, gold: str) -> Equality:
        """See `Episode.compare_answers`."""
        checker = await self.in_thread(self.sandboxes.math_checker)
        return await asyncio.wrap_future(checker.submit(prediction, gold))

    async def trace(self, program: str, stdin: str = "", language: Language | None = None) -> TracedRun:
        """See `Episode.trace`."""
        try:
            return await self.sandboxes.trace(language or self.language, program, stdin, self.threads.tools)
        finally:
            self.progressed()

    def count_tokens(self, text: str) -> int:
        """See `Episode.count_tokens`."""
        if self.renderer is None:
            return len(text)
        return len(self.renderer.tokenizer.encode(text, add_special_tokens=False))

    async def open_session(self, language: Language | None = None) -> Session:
        """See `Episode.open_session`."""
        session = await self.sandboxes.open(language or self.language, self.threads.tools)
        self._open.append(session)
        return session

    async def in_thread(
        self, function: Callable[Parameters, Result], *args: Parameters.args, **kwargs: Parameters.kwargs
    ) -> Result:
        """See `Episode.in_thread`."""
        called = partial(function, *args, **kwargs)
        try:
            return await asyncio.get_running_loop().run_in_executor(self.threads.tools, called)
        finally:
            self.progressed()

    def without_verdict(self, error: str) -> Verification:
        """The verification of an episode whose sandbox has failed, which says nothing about the policy."""
        return Verification(
            task_id=self.task.id,
            language=self.language.name,
            program=None,
            verdict=Verdict.SANDBOX_ERROR,
            tests=(),
            compile=None,
            sandbox=self.sandbox,
            attempts=0,
            wall_ms=0.0,
            error=error,
        )

    async def close(self) -> None:
        """Close the sessions."""
        while self._open:
            await self.sandboxes.close(self._open.pop(), self.threads.tools)

    def _observation(self, text: str, role: str) -> Observation:
        if self.renderer is None:
            return Observation(text, "user")
        return self.renderer.observation(text, role, self.limits.max_observation_tokens)
