"""From faulty programs to sentences of advice, through a model that can be asked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from agnostics.analysis.advice.brief import Brief
from agnostics.analysis.advice.sentences import FEWEST, sentences, without_reasoning


class Answer(Protocol):
    """What a model answered; not `whole` where it was cut off."""

    @property
    def text(self) -> str: ...

    @property
    def whole(self) -> bool: ...


Ask = Callable[[str], Answer]


def consult(brief: Brief, ask: Ask) -> list[str]:
    """The advice that `ask`, a capable model, gives on the programs of `brief`: at most 20 sentences, maybe none.

    Programs that fit into one question are asked about in one; else each batch is, and then what was observed in all.
    """
    if len(brief.batches) == 1:
        return _advice(brief, brief.for_advice(brief.batches[0]), ask)
    answers = [without_reasoning(ask(brief.for_observations(batch)).text) for batch in brief.batches]
    observations = [answer for answer in answers if answer.strip()]
    return _advice(brief, brief.for_digest(observations), ask) if observations else []


def _advice(brief: Brief, question: str, ask: Ask) -> list[str]:
    """The sentences of the answer; where there are too few, `ask` is given one more chance, and the better counts."""
    answer = ask(question)
    first = sentences(answer.text, whole=answer.whole)
    if len(first) >= FEWEST:
        return first
    answer = ask(brief.again(question, len(first)))
    second = sentences(answer.text, whole=answer.whole)
    return max(first, second, key=len)
