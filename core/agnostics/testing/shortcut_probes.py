"""Outputs that only look right: whatever the comparison forgives, these it must not."""

from __future__ import annotations

import re
from collections.abc import Iterator

from agnostics.types.task import Comparison, Task, Test

INTEGER = re.compile(r"(?<![\w.])-?\d+(?![\w.])")
FLOATS = Comparison(mode="floats")
"""The most forgiving of the modes."""
MILLION = Task(id="million", tests=(Test(input="", output="1000000\n"),), compare=FLOATS)


def cheats_at(task: Task) -> Iterator[tuple[str, str, Task]]:
    """What each cheat is, what it prints, and the task, of one test, that it must fail."""
    test = next((test for test in task.tests if test.output.strip()), None)
    if test is None:
        return
    for what, output in _cheats(test.output):
        if output.split() != test.output.split():
            yield what, output, task.model_copy(update={"tests": (test,)})
            yield f"{what}, with a tolerance", output, task.model_copy(update={"tests": (test,), "compare": FLOATS})


def _cheats(expected: str) -> Iterator[tuple[str, str]]:
    first, *rest = expected.strip().splitlines()
    if rest:
        yield "the first line only", first
    yield "no output", ""
    yield "a token too many", f"{expected.rstrip()} 0"
    yield "not a number", re.sub(r"\S+", "nan", expected)
    yield "integers off by one", INTEGER.sub(lambda found: str(int(found[0]) + 1), expected, count=1)
