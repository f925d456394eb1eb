"""A reference solution: it answers an input of a problem, and draws new ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from agnostics import Test

from agnostics_datasets.esolang_references.inputs import Draw

MOST_DRAWS = 2_000
Answer = str | int | list[int] | list[str]
"""An answer: a text, an integer, a truth value (yes or no), or a list (printed with spaces)."""


@dataclass(frozen=True)
class Reference:
    """The reference solution of a problem: `solve(*read(input))` is the answer.

    `draws` are generators of inputs, each for one kind of input, so that every set of tests has all kinds. A problem
    without input has none.
    """

    read: Callable[[str], Sequence[Any]]
    solve: Callable[..., Answer]
    draws: tuple[Draw, ...] = ()

    def output(self, text: str) -> str:
        """The output for the input `text`."""
        return _render(self.solve(*self.read(text)))

    def fresh_tests(self, published: Sequence[Test], rng: Random) -> tuple[Test, ...]:
        """As many tests as `published`, with different inputs, new ones while there are any.

        No output is that of more than two thirds of them. A problem without input keeps its tests.
        """
        if not self.draws:
            return tuple(published)
        tests = list[Test]()
        for number in range(len(published)):
            tests.append(self._next_test(self.draws[number % len(self.draws)], tests, published, rng))
        return tuple(tests)

    def _next_test(self, draw: Draw, tests: Sequence[Test], published: Sequence[Test], rng: Random) -> Test:
        used = {test.input for test in tests}
        outputs = Counter(test.output for test in tests)
        for avoided in (used | {test.input for test in published}, used):
            for _ in range(MOST_DRAWS):
                text = draw(rng)
                if text not in avoided and outputs[output := self.output(text)] < _most_alike(len(published)):
                    return Test(input=text, output=output)
        raise ValueError(f"the generator of input {len(tests) + 1} has too few different inputs or answers")


def _most_alike(count: int) -> int:
    """The number of tests out of `count` that may have the same output."""
    return max(1, min(count - 1, count * 2 // 3))


def _render(answer: Answer) -> str:
    if isinstance(answer, bool):
        return "yes" if answer else "no"
    return " ".join(map(str, answer)) if isinstance(answer, list) else str(answer)
