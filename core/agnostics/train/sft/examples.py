"""Examples from a results database: what a run's model did and was accepted for becomes training data."""

from __future__ import annotations

import hashlib
import heapq
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection

from agnostics.environments.settings import configured_environment
from agnostics.plugins.manager import PluginManager
from agnostics.rollout.prompts import ChatSettings, RenderedPrompt, prompt_of
from agnostics.store.filters import VerificationFilter
from agnostics.store.queries.accepted_completions import AcceptedCompletion, accepted_completions
from agnostics.store.queries.accepted_episodes import AcceptedEpisode, accepted_episodes
from agnostics.store.queries.runs import CALL_FORM
from agnostics.types.errors import UsageError
from agnostics.types.language import Language
from agnostics.types.task import Task

Accepted = AcceptedCompletion | AcceptedEpisode
Message = dict[str, str]


@dataclass(frozen=True, slots=True)
class SftExample:
    """A line of a file that `agn sft` reads. `task` is the task's id.

    A single answer has a `prompt`, the user's message, and a `completion`. An episode has `messages`, which are
    `append_only`: each was added to the tokens before it, as `agn sft` does again.
    """

    prompt: str | None
    completion: str | None
    system: str | None
    messages: tuple[Message, ...] | None
    append_only: bool | None
    task: str


def accepted_examples(
    connection: Connection, where: VerificationFilter, plugins: PluginManager
) -> Iterator[SftExample]:
    """The accepted completions and episodes that match `where`, with their prompts, in order.

    Each program of a prompt is there once, and each episode. Left out are those that were truncated, and completions of
    prompts that a model continues without a chat template. Raises UsageError for the environment of a plugin that is
    not installed, and for a run whose prompts are unknown.
    """
    seen, prompts = set[bytes](), _Prompts(plugins)
    streams: list[Iterator[Accepted]] = [accepted_completions(connection, where), accepted_episodes(connection, where)]
    for accepted in heapq.merge(*streams, key=lambda one: one.completion_id):
        if accepted.task.prompt_format and accepted.task.prompt_format.stop is not None:
            continue
        prompt = prompts.of(accepted.run, accepted.config, accepted.language, accepted.task)
        made = _episode(prompt, accepted) if isinstance(accepted, AcceptedEpisode) else _answer(prompt, accepted)
        told = accepted.program if isinstance(accepted, AcceptedCompletion) else repr(made.messages or made.completion)
        key = hashlib.sha256("\0".join((prompt.system or "", prompt.text, told)).encode()).digest()
        if key not in seen:
            seen.add(key)
            yield made


def _answer(prompt: RenderedPrompt, accepted: AcceptedCompletion) -> SftExample:
    return SftExample(prompt.text, accepted.text, prompt.system, None, None, accepted.task.id)


def _episode(prompt: RenderedPrompt, episode: AcceptedEpisode) -> SftExample:
    """The conversation of an episode; a single answer is a completion."""
    *before, last = episode.turns
    if not before:
        return SftExample(prompt.text, last.text, prompt.system, None, None, episode.task.id)
    messages = list[Message](prompt.messages)
    for turn in before:
        role = "tool" if turn.used_tools else "user"
        messages.append({"role": "assistant", "content": turn.text})
        messages.append({"role": role, "content": turn.observation or ""})
    messages.append({"role": "assistant", "content": last.text})
    return SftExample(None, None, None, tuple(messages), True, episode.task.id)


@dataclass(frozen=True, slots=True)
class _Prompts:
    """The prompts of tasks in runs, as the runs rendered them."""

    plugins: PluginManager

    def of(self, run: str, config: Mapping[str, Any], language: Language, task: Task) -> RenderedPrompt:
        """The prompt of a task in the run with this configuration."""
        found = self.plugins.environment(config.get("environment", "answer"))
        environment = configured_environment(found, config.get("environment_options", {}))
        form = config.get(CALL_FORM)
        if form is None and environment.system_prompt(language, "text") != environment.system_prompt(language, "qwen"):
            raise UsageError(
                f"run {run} is of an earlier version, which did not store the form of tool calls in its prompts; "
                "name other runs"
            )
        chat = ChatSettings.model_validate(config.get("chat") or {})
        return prompt_of(language, task, chat, environment, form or "text")
