"""Examples from a results database: the accepted completions of its runs become training data."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass

from sqlalchemy import Connection

from agnostics.rollout.prompts import ChatSettings
from agnostics.store.filters import VerificationFilter
from agnostics.store.queries.accepted_completions import accepted_completions


@dataclass(frozen=True, slots=True)
class SftExample:
    """A line of a file that `agn sft` reads: the user's message and the answer. `task` is the task's id."""

    prompt: str
    completion: str
    system: str | None
    task: str


def accepted_examples(connection: Connection, where: VerificationFilter) -> Iterator[SftExample]:
    """The accepted completions that match `where`, with their prompts; each program of a prompt once.

    Left out are completions that were truncated, and those of prompts that a model continues without a chat template.
    """
    seen = set[bytes]()
    for accepted in accepted_completions(connection, where):
        task, chat = accepted.task, ChatSettings.model_validate(accepted.config.get("chat") or {})
        if task.prompt_format and task.prompt_format.stop is not None:
            continue
        prompt = chat.message(accepted.language, task)
        key = hashlib.sha256("\0".join((chat.system or "", prompt, accepted.program)).encode()).digest()
        if key not in seen:
            seen.add(key)
            yield SftExample(prompt, accepted.text, chat.system, task.id)
