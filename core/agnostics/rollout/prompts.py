"""Prompts: a task in the words of a language, as token ids of a model's chat template."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Annotated, Any

from pydantic import AfterValidator

from agnostics.environments.answer import ANSWER
from agnostics.environments.environment import Environment
from agnostics.environments.tools.form import CallForm, form_of
from agnostics.types.errors import UsageError
from agnostics.types.language import Language
from agnostics.types.task import Frozen, Task

_DATE = date(2024, 7, 26)
"""The date for templates that put one into the prompt (Llama 3.2, its own default), so that prompts repeat."""
_PLACEHOLDER = re.compile(r"\{(prompt|language|statement)\}")


def _has_statement(template: str) -> str:
    if "{statement}" not in template:
        raise ValueError("a template holds {statement}")
    return template


class ConversationSettings(Frozen):
    """Settings of rendering a conversation through a model's chat template."""

    system: str | None = None
    """The system prompt; by default the one of the model's chat template, if it has one."""
    thinking: bool = False
    """Let a model think before it answers, if its chat template knows of thinking. Programs in its thoughts are not
    verified."""


class ChatSettings(ConversationSettings):
    """Settings of the conversation in which a model gets a task."""

    template: Annotated[str, AfterValidator(_has_statement)] = "{prompt}\n\n{statement}"
    """The user's message: `{statement}` stands for the task's statement, `{prompt}` for the language's prompt and
    `{language}` for its name. A task with a prompt format has a message of its own."""

    def message(self, language: Language, task: Task) -> str:
        """The user's message for `task`. Raises UsageError if the task is for another language."""
        text = language.prompt_for(task)
        if task.prompt_format:
            return text
        parts = {"prompt": language.prompt.strip(), "language": language.name, "statement": task.statement.strip()}
        return _PLACEHOLDER.sub(lambda match: parts[match[1]], self.template)


@dataclass(frozen=True, slots=True)
class RenderedPrompt:
    """A task and its prompt: as text, and as token ids of a model, (P,), if there is a tokenizer.

    `system` is the system prompt of the conversation, if it is not the model's own.
    """

    task: Task
    text: str
    token_ids: tuple[int, ...] = ()
    system: str | None = None

    @property
    def messages(self) -> list[dict[str, str]]:
        """The conversation up to the model's answer."""
        return user_message(self.text, self.system)


def call_form_of(tokenizer: Any) -> CallForm:
    """The form of tool calls that a model was trained on, as far as its chat template shows."""
    return form_of(str(getattr(tokenizer, "chat_template", "") or ""))


def user_message(text: str, system: str | None) -> list[dict[str, str]]:
    """A conversation of one message, after the system prompt if there is one."""
    before = [] if system is None else [{"role": "system", "content": system}]
    return [*before, {"role": "user", "content": text}]


def render_conversation(
    tokenizer: Any,
    messages: Sequence[Mapping[str, Any]],
    settings: ConversationSettings,
    *,
    prompt: bool = True,
    tools: Sequence[Mapping[str, Any]] = (),
) -> list[int]:
    """The token ids of `messages` through the tokenizer's chat template, with a constant date.

    A `prompt` ends where the model's answer begins. `tools` are functions with JSON schemas.
    """
    token_ids: list[int] = _apply_template(tokenizer, messages, settings, prompt=prompt, tokenize=True, tools=tools)
    return token_ids


def conversation_text(tokenizer: Any, messages: Sequence[Mapping[str, Any]], settings: ConversationSettings) -> str:
    """As `render_conversation`, a prompt as text."""
    text: str = _apply_template(tokenizer, messages, settings, prompt=True, tokenize=False)
    return text


def _apply_template(
    tokenizer: Any,
    messages: Sequence[Mapping[str, Any]],
    settings: ConversationSettings,
    *,
    prompt: bool,
    tokenize: bool,
    tools: Sequence[Mapping[str, Any]] = (),
) -> Any:
    return tokenizer.apply_chat_template(
        messages,
        tools=list(tools) or None,
        add_generation_prompt=prompt,
        enable_thinking=settings.thinking,
        strftime_now=_DATE.strftime,
        tokenize=tokenize,
        return_dict=False,
    )


def prompt_of(
    language: Language, task: Task, chat: ChatSettings, environment: Environment[Any], call_form: CallForm
) -> RenderedPrompt:
    """The prompt of `task` as text. The environment's system prompt comes before that of the settings."""
    parts = [part for part in (environment.system_prompt(language, call_form), chat.system) if part is not None]
    text = environment.message(task, language)
    return RenderedPrompt(
        task, chat.message(language, task) if text is None else text, system="\n\n".join(parts) if parts else None
    )


def render_prompt(
    tokenizer: Any, language: Language, task: Task, chat: ChatSettings, environment: Environment[Any] = ANSWER
) -> RenderedPrompt:
    """The prompt of `task` through the tokenizer's chat template.

    A text that the model continues is not put into the template.
    """
    prompt = prompt_of(language, task, chat, environment, call_form_of(tokenizer))
    if task.prompt_format and task.prompt_format.stop is not None:
        return replace(prompt, token_ids=tuple(tokenizer(prompt.text).input_ids))
    return replace(prompt, token_ids=tuple(render_conversation(tokenizer, prompt.messages, chat)))


def render_prompts(
    tokenizer: Any,
    language: Language,
    tasks: Iterable[Task],
    max_tokens: int,
    chat: ChatSettings,
    environment: Environment[Any] = ANSWER,
) -> tuple[list[RenderedPrompt], int]:
    """The prompts of at most `max_tokens` tokens, and the number of longer ones, which are left out.

    Raises UsageError if none is left.
    """
    prompts = [render_prompt(tokenizer, language, task, chat, environment) for task in tasks]
    kept = [prompt for prompt in prompts if len(prompt.token_ids) <= max_tokens]
    if not kept:
        raise UsageError(
            f"none of {len(prompts)} tasks has a prompt of at most {max_tokens} tokens; see rollout.max_prompt_tokens"
        )
    return kept, len(prompts) - len(kept)
