"""The corpus of the starter model: tasks with programs, most of them wrong."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random

from agnostics.models.starter.mutation import wrong_programs
from agnostics.types.language import Language
from agnostics.types.task import Task


@dataclass(frozen=True, slots=True)
class Example:
    """A prompt, the statement in it, and the completion to train on."""

    prompt: str
    statement: str
    completion: str


class Corpus:
    """Endless examples: families in equal shares, and `right_share` of the programs correct.

    Each family has a few wrong programs of its own, so that they are frequent enough for a small model to learn them as
    well as the correct one: it knows the correct program, but does not prefer it.
    """

    def __init__(self, language: Language, tasks: Sequence[Task], *, right_share: float, wrong: int, seed: int) -> None:
        self._language = language
        self._right_share = right_share
        self._tasks = defaultdict[str, list[Task]](list)
        for task in tasks:
            if task.kind in language.reference:
                self._tasks[task.kind].append(task)
        self._wrong = {kind: self._wrong_for(kind, wrong, Random(f"{seed}/{kind}")) for kind in self._tasks}

    @property
    def kinds(self) -> list[str]:
        """The task families that the language's pack has programs for."""
        return sorted(self._tasks)

    def examples(self, rng: Random) -> Iterator[Example]:
        """Examples without end, as `rng` draws them."""
        kinds = self.kinds
        while True:
            kind = rng.choice(kinds)
            right = rng.random() < self._right_share
            template = self._language.reference[kind] if right else rng.choice(self._wrong[kind])
            yield self._example(rng.choice(self._tasks[kind]), template)

    def _example(self, task: Task, template: str) -> Example:
        program = self._language.model_copy(update={"reference": {task.kind: template}}).reference_for(task)
        tag = self._language.name
        return Example(self._language.prompt_for(task), task.statement, f"```{tag}\n{program}```")

    def _wrong_for(self, kind: str, count: int, rng: Random) -> list[str]:
        names = set(self._tasks[kind][0].parameters)
        others = [
            self._language.reference[other]
            for other in self.kinds
            if other != kind and set(self._tasks[other][0].parameters) <= names
        ]
        return wrong_programs(self._language.reference[kind], others, count, rng)
