"""Shortcut probes: outputs that only look right, which every comparison must reject."""

from __future__ import annotations

import re
from collections.abc import Iterator

from agnostics.types.task import Comparison, Task, Test

INTEGER = re.compile(r"(?<![\w.])-?\d+(?![\w.])")
FLOATS = Comparison(mode="floats")
"""The most lenient mode."""
MILLION = Task(id="million", tests=(Test(input="", output="1000000\n"),), compare=FLOATS)


def shortcut_outputs(task: Task) -> Iterator[tuple[str, str, Task]]:
    """Each probe as its label, its output, and the task with one test that must reject it."""
    test = next((test for test in task.tests if test.output.strip()), None)
    if test is None:
        return
    for label, output in _outputs(test.output):
        if output.split() != test.output.split():
            yield label, output, task.model_copy(update={"tests": (test,)})
            yield f"{label}, with a tolerance", output, task.model_copy(update={"tests": (test,), "compare": FLOATS})


def _outputs(expected: str) -> Iterator[tuple[str, str]]:
    first, *rest = expected.strip().splitlines()
    if rest:
        yield "the first line only", first
    yield "no output", ""
    yield "an extra token", f"{expected.rstrip()} 0"
    yield "not a number", re.sub(r"\S+", "nan", expected)
    yield "integers off by one", INTEGER.sub(lambda match: str(int(match[0]) + 1), expected, count=1)
