"""Problems that can be solved in several complexity classes, with tests and a generator of inputs of size n."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from agnostics import Task, Test

GENERATOR = """\
import random
draw, n = random.Random(0), int(input())
print(n)
for _ in range(n):
    print(draw.randint({low}, {high}))
"""
_INPUT = "The first line is a number n, and n lines with an integer each follow."
_WITHIN = (
    "{statement}\n\nThe time complexity of the program must be at most {klass}, where n is the first number of the "
    "input."
)


@dataclass(frozen=True, slots=True)
class ComplexityProblem:
    """A problem about a list of integers: its statement, its solution, and classes of programs that solve it."""

    statement: str
    solve: Callable[[Sequence[int]], int]
    classes: tuple[str, ...]
    low: int = -1000
    high: int = 1000


def _best_sum(numbers: Sequence[int]) -> int:
    best = ending = numbers[0]
    for number in numbers[1:]:
        ending = max(number, ending + number)
        best = max(best, ending)
    return best


def _inversions(numbers: Sequence[int]) -> int:
    return sum(first > second for place, first in enumerate(numbers) for second in numbers[place + 1 :])


PROBLEMS = {
    "best_sum": ComplexityProblem(
        "Print the largest sum of one or more neighbours.", _best_sum, ("O(n)", "O(n^2)", "O(n^3)")
    ),
    "distinct": ComplexityProblem(
        "Print how many different integers there are.", lambda x: len(set(x)), ("O(n log n)", "O(n^2)")
    ),
    "inversions": ComplexityProblem(
        "Print how many pairs stand in the wrong order: a larger integer before a smaller one.",
        _inversions,
        ("O(n log n)", "O(n^2)"),
    ),
    "closest": ComplexityProblem(
        "Print the least distance between two of the integers (0 if two are equal).",
        lambda x: min(b - a for a, b in zip(sorted(x), sorted(x)[1:], strict=False)),
        ("O(n log n)", "O(n^2)"),
        -(10**9),
        10**9,
    ),
}


def problem_tasks(seed: str, where: str) -> Iterator[Task]:
    """A task for each class of each problem, with eight tests."""
    for name, problem in PROBLEMS.items():
        draw = random.Random(f"{seed}/{name}")
        tests = tuple(_test(problem, draw, size) for size in (2, 3, 5, 8, 13, 21, 34, 55))
        for klass in problem.classes:
            statement = f"{_INPUT} {problem.statement}"
            yield Task(
                id=f"planted-complexity-problems/{where}/{name}/{klass.replace(' ', '')}",
                statement=_WITHIN.format(statement=statement, klass=klass),
                tests=tests,
                family=f"{where}/{name}",
                tags=("time", klass),
                metadata={
                    "quantity": "time",
                    "within": klass,
                    "generator": GENERATOR.format(low=problem.low, high=problem.high),
                },
            )


def _test(problem: ComplexityProblem, draw: random.Random, size: int) -> Test:
    numbers = [draw.randint(problem.low // 20, problem.high // 20) for _ in range(size)]
    lines = "\n".join(map(str, [size, *numbers]))
    return Test(input=f"{lines}\n", output=f"{problem.solve(numbers)}\n")
