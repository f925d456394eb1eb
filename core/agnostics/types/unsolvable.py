"""Tasks that no program can solve."""

from __future__ import annotations

from collections.abc import Callable, Hashable

from agnostics.types.task import Task


def known_unsolvable(task: Task, language: str) -> str | None:
    """The reason why no program in `language` can pass all tests of `task`; None if none is known.

    The reason found is two tests with the same input whose outputs differ by the comparison of the task. Modes that may
    accept one output for both (`floats`, `checker`, `nothing`) are not examined.
    """
    if task.compare.mode not in _COMPARED:
        return None
    first = dict[str, tuple[int, Hashable]]()
    for number, test in enumerate(task.tests, 1):
        compared = _COMPARED[task.compare.mode](test.output.encode("utf-8", "surrogatepass"))
        earlier, output = first.setdefault(test.input, (number, compared))
        if output != compared:
            return f"no program in {language} passes tests {earlier} and {number}: the same input, different outputs"
    return None


def _lines(output: bytes) -> Hashable:
    """The lines without trailing white space and final blank lines."""
    return b"\n".join(line.rstrip() for line in output.rstrip().split(b"\n"))


_COMPARED: dict[str, Callable[[bytes], Hashable]] = {
    "tokens": lambda output: tuple(output.split()),
    "lines": _lines,
    "exact": lambda output: output,
}
"""What the comparison sees of an output."""
