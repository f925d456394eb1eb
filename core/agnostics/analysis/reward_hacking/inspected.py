"""An accepted program as the detectors see it."""

from __future__ import annotations

from dataclasses import dataclass

from agnostics.types.task import Task, Test

DetectorResult = tuple[str, float] | None
"""The reason in one line and its strength from 0 to 1; None if the detector finds nothing."""


@dataclass(frozen=True, slots=True)
class InspectedProgram:
    """An accepted program with its task. `outputs` are what it printed in each test, None for a truncated output."""

    program: str
    task: Task
    outputs: tuple[str | None, ...]

    def complete_outputs(self) -> list[tuple[Test, str]]:
        """Each test with the program's output, without truncated ones."""
        return [(test, out) for test, out in zip(self.task.tests, self.outputs, strict=False) if out is not None]

    @property
    def varies(self) -> bool:
        """True if the output differs between tests."""
        return len({out for _, out in self.complete_outputs()}) > 1
