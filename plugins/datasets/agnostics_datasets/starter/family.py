"""A family of starter tasks: the generator of its inputs, its statements, and its reference solution."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from random import Random
from typing import Any

from agnostics import LimitOverrides, Task, Test

TESTS = 6
MOST_ALIKE = 4
MOST_COMBINATIONS = 240
MOST_DRAWS = 10_000
Parameters = dict[str, int | str]
NumberedCombination = tuple[int, tuple[str, Parameters]]
"""The number of a combination in its family, its statement and its parameters."""


@dataclass(frozen=True)
class Form:
    """A form of input: sentences that describe the input, and `draw(rng, wide)`, which returns a text and its values.

    Inputs drawn `wide` include those that the training split lacks: larger, negative, longer or shorter. The text is a
    template of the task's parameters, as statements are: `{sep}`.
    """

    openings: tuple[str, ...]
    draw: Callable[[Random, bool], tuple[str, tuple[Any, ...]]]


@dataclass(frozen=True)
class TaskFamily:
    """A family of tasks: every opening of its form, with every goal, with every choice of parameters.

    `solve(*values, **parameters)` returns the answer: an integer, a text, a list (printed with spaces) or a bool (YES
    or NO). Inputs with an empty answer are skipped.
    """

    name: str
    form: Form
    goals: tuple[str, ...]
    solve: Callable[..., Any]
    parameters: Mapping[str, Sequence[int | str]] = field(default_factory=dict)

    def combinations(self) -> list[tuple[str, Parameters]]:
        """Statement and parameters of every task of this family, in an order that is the same everywhere."""
        choices = [dict(zip(self.parameters, values, strict=True)) for values in product(*self.parameters.values())]
        every = [
            (f"{opening} {goal}".format(**chosen), chosen)
            for opening, goal, chosen in product(self.form.openings, self.goals, choices)
        ]
        Random(f"starter/{self.name}").shuffle(every)
        return every[:MOST_COMBINATIONS]

    def task(
        self,
        name: str,
        statement: str,
        parameters: Parameters,
        *,
        wide: bool,
        seed: int,
        accepts: Callable[[str], bool] = lambda _: True,
    ) -> Task:
        """The task with this statement, its tests drawn from `seed`; half of them wide if `wide`.

        Only inputs that `accepts` are used. Raises ValueError if these are too few.
        """
        cases = self._cases(Random(f"starter/{seed}/{self.name}/{statement}"), parameters, wide, accepts)
        return Task(
            id=name,
            statement=statement,
            tests=tuple(Test(input=text, output=answer) for text, answer in cases),
            limits=LimitOverrides(run_s=1),
            family=self.name,
            parameters=parameters,
        )

    def _cases(
        self, rng: Random, parameters: Parameters, wide: bool, accepts: Callable[[str], bool]
    ) -> Iterator[tuple[str, str]]:
        """Inputs and answers; a constant passes at most four of six, and so does an echo of the input."""
        seen, ways = set[str](), Counter[str]()
        for _ in range(MOST_DRAWS):
            template, values = self.form.draw(rng, wide and len(seen) % 2 == 1)
            text = template.format(**parameters)
            if text in seen or not accepts(text):
                continue
            answer = _render(self.solve(*values, **parameters))
            passing = [answer, "echo"] if answer == text else [answer]
            if not answer.strip() or any(ways[way] >= MOST_ALIKE for way in passing):
                continue
            seen.add(text)
            ways.update(passing)
            yield text, answer
            if len(seen) == TESTS:
                return
        raise ValueError(f"{self.name}: inputs drawn for {parameters} have too few different answers")


def in_turn(
    parts: Sequence[tuple[TaskFamily, list[NumberedCombination]]], rng: Random
) -> Iterator[tuple[TaskFamily, int, tuple[str, Parameters]]]:
    """Round-robin over the families, shuffled in each round, until every combination of `parts` is used."""
    left = list(parts)
    for _, part in left:
        rng.shuffle(part)
    while left:
        rng.shuffle(left)
        for family, part in left:
            index, combination = part.pop()
            yield family, index, combination
        left = [(family, part) for family, part in left if part]


def _render(answer: Any) -> str:
    if isinstance(answer, bool):
        return "YES\n" if answer else "NO\n"
    if isinstance(answer, list):
        return " ".join(map(str, answer)) + "\n"
    return f"{answer}\n"
