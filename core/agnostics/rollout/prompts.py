"""Prompts: a task in the words of a language, as token ids of a model's chat template."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from typing import Any

from agnostics.types.errors import UsageError
from agnostics.types.language import Language
from agnostics.types.task import Task

_DATE = date(2024, 7, 26)
"""The date for templates that put one into the prompt (Llama 3.2, its own default), so that prompts repeat."""


@dataclass(frozen=True, slots=True)
class RenderedPrompt:
    """A task and its prompt: as text, and as token ids of a model, (P,), if there is a tokenizer."""

    task: Task
    text: str
    token_ids: tuple[int, ...] = ()


def render_prompt(tokenizer: Any, language: Language, task: Task) -> RenderedPrompt:
    """The prompt of `task` through the tokenizer's chat template, with thinking off and a constant date.

    A text that the model continues is not put into the template.
    """
    text = language.prompt_for(task)
    if task.prompt_format and task.prompt_format.stop is not None:
        return RenderedPrompt(task, text, tuple(tokenizer(text).input_ids))
    message = {"role": "user", "content": text}
    token_ids = tokenizer.apply_chat_template(
        [message], add_generation_prompt=True, enable_thinking=False, strftime_now=_DATE.strftime, return_dict=False
    )
    return RenderedPrompt(task, text, tuple(token_ids))


def render_prompts(
    tokenizer: Any, language: Language, tasks: Iterable[Task], max_tokens: int
) -> tuple[list[RenderedPrompt], int]:
    """The prompts of at most `max_tokens` tokens, and the number of longer ones, which are left out.

    Raises UsageError if none is left.
    """
    prompts = [render_prompt(tokenizer, language, task) for task in tasks]
    kept = [prompt for prompt in prompts if len(prompt.token_ids) <= max_tokens]
    if not kept:
        raise UsageError(
            f"none of {len(prompts)} tasks has a prompt of at most {max_tokens} tokens; see rollout.max_prompt_tokens"
        )
    return kept, len(prompts) - len(kept)
