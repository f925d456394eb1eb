"""Which tasks come when: prompts as tokens, and an order that a step's number decides."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property, lru_cache
from typing import Any

from agnostics.types.errors import UsageError
from agnostics.types.language import Language
from agnostics.types.task import Task

_DAY = date(2024, 7, 26)
"""The date for templates that put one into the prompt (Llama 3.2, whose own default it is), so that prompts repeat."""


@dataclass(frozen=True, slots=True)
class Question:
    """A task and the token ids of the prompt that asks for it."""

    task: Task
    prompt: tuple[int, ...]


def ask(tokenizer: Any, language: Language, task: Task) -> Question:
    """The question for `task`, through the tokenizer's chat template, with thinking off and always of one day.

    A text to go on from is asked as it is.
    """
    asked = language.prompt_for(task)
    if task.prompt_format and task.prompt_format.stop is not None:
        return Question(task, tuple(tokenizer(asked).input_ids))
    message = {"role": "user", "content": asked}
    token_ids = tokenizer.apply_chat_template(
        [message], add_generation_prompt=True, enable_thinking=False, strftime_now=_DAY.strftime, return_dict=False
    )
    return Question(task, tuple(token_ids))


def ask_all(tokenizer: Any, language: Language, tasks: Iterable[Task], max_tokens: int) -> tuple[list[Question], int]:
    """The questions of at most `max_tokens` tokens, and how many were longer and left out.

    Raises UsageError where none is left.
    """
    questions = [ask(tokenizer, language, task) for task in tasks]
    kept = [question for question in questions if len(question.prompt) <= max_tokens]
    if not kept:
        raise UsageError(
            f"none of {len(questions)} tasks has a prompt of at most {max_tokens} tokens; see rollout.max_prompt_tokens"
        )
    return kept, len(questions) - len(kept)


@dataclass(frozen=True)
class Curriculum:
    """Questions in an order shuffled anew for every epoch, `batch` of them a step."""

    questions: Sequence[Question]
    batch: int
    seed: int

    @cached_property
    def steps_per_epoch(self) -> int:
        """How many steps it takes to see every question once."""
        return math.ceil(len(self.questions) / self.batch)

    def at(self, step: int) -> list[Question]:
        """The questions of step `step`, counted from 1. It depends on nothing but the seed, so that runs resume."""
        size = len(self.questions)
        places = range((step - 1) * self.batch, step * self.batch)
        orders = {epoch: self._order(epoch) for epoch in {place // size for place in places}}
        return [self.questions[orders[place // size][place % size]] for place in places]

    def spares(self, step: int) -> Iterator[Question]:
        """Questions that step `step` does not ask, in a random order of its own, to sample in place of some of its own.

        They depend on nothing but the seed and the step either, and are asked again when their turn comes.
        """
        asked = {question.task.id for question in self.at(step)}
        others = [question for question in self.questions if question.task.id not in asked]
        random.Random(f"{self.seed}/spares/{step}").shuffle(others)
        return iter(others)

    def _order(self, epoch: int) -> tuple[int, ...]:
        return in_turns(tuple(question.task.family for question in self.questions), f"{self.seed}/{epoch}")


@lru_cache(maxsize=2)
def in_turns(kinds: tuple[str | None, ...], seed: int | str) -> tuple[int, ...]:
    """The places of tasks of these kinds in a random order that takes one of each kind in turn, as far as they reach.

    A task without a kind counts as the first of one of its own: where none has a kind, this is a plain shuffle.
    """
    order = list(range(len(kinds)))
    random.Random(seed).shuffle(order)
    met, turns = Counter[str](), dict[int, int]()
    for place in order:
        kind = kinds[place]
        turns[place] = met[kind] if kind else 0
        met.update([kind] if kind else [])
    return tuple(sorted(order, key=turns.__getitem__))
