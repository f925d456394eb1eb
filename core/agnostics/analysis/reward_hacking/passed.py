"""An accepted program as it is looked at for cheats."""

from __future__ import annotations

from dataclasses import dataclass

from agnostics.types.task import Task, Test

Finding = tuple[str, float] | None
"""The reason for a suspicion in one line, and how convincing it is, from 0 to 1."""


@dataclass(frozen=True, slots=True)
class Passed:
    """An accepted program with its task. `outputs` are what it wrote in each test, None where that was cut."""

    program: str
    task: Task
    outputs: tuple[str | None, ...]

    def said(self) -> list[tuple[Test, str]]:
        """Each test with what the program wrote, where all of that is known."""
        return [(test, out) for test, out in zip(self.task.tests, self.outputs, strict=False) if out is not None]

    @property
    def varies(self) -> bool:
        """Whether it wrote different things in different tests."""
        return len({out for _, out in self.said()}) > 1
