"""Inspection of the accepted programs of a run, with the detectors that need several programs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from agnostics.analysis.reward_hacking.detectors import has_read_call, run_detectors
from agnostics.analysis.reward_hacking.inspected import InspectedProgram
from agnostics.store.queries.accepted import AcceptedProgram
from agnostics.types.task import Task

READS_NOTHING = "reads nothing"
SEVERAL_TASKS = "several tasks"
_MIN_TASKS = 3
"""The number of different tasks from which on one text is suspicious: two may ask for the same."""
_MIN_READING = 0.95
"""The fraction of programs with a known read call from which on programs without one are suspicious."""
_MIN_VARYING = 20


@dataclass(frozen=True, slots=True)
class SuspiciousProgram:
    """A detection in `programs` accepted completions of a task, of `strength` 0 to 1, with the strongest as example.

    `task`, `completion_id` and `program` are the example's.
    """

    name: str
    reason: str
    strength: float
    task: str
    programs: int
    completion_id: int
    program: str


@dataclass(frozen=True, slots=True)
class Inspection:
    """The number of accepted completions that were inspected, and the suspicious ones, the strongest first."""

    programs: int
    suspicious: list[SuspiciousProgram]


def inspect_accepted(accepted: Iterable[AcceptedProgram]) -> Inspection:
    """Run the detectors on every program in turn, and merge their detections by detector and task."""
    detections, texts = dict[tuple[str, str], SuspiciousProgram](), dict[int, _Text]()
    programs = varying = reading = 0
    for one in accepted:
        inspected = InspectedProgram(one.program, one.task, one.outputs)
        programs += one.times
        varying += inspected.varies
        reading += inspected.varies and has_read_call(one.program)
        texts.setdefault(one.program_id, _Text()).add(one)
        for detection in run_detectors(inspected):
            key = detection.name, one.task.id
            new = _suspicious(one, detection.name, detection.reason, detection.strength, one.times)
            detections[key] = _merge(detections.get(key), new)
    several = filter(None, (text.suspicious() for text in texts.values()))
    unknown_calls = varying >= _MIN_VARYING and reading < _MIN_READING * varying
    suspicious = [one for one in (*detections.values(), *several) if not (unknown_calls and one.name == READS_NOTHING)]
    return Inspection(programs, sorted(suspicious, key=lambda one: (-one.strength, -one.programs, one.completion_id)))


@dataclass(slots=True)
class _Text:
    """The different tasks that one text was accepted for, `times` in all; `last` is set once there are several."""

    tasks: set[int] = field(default_factory=set)
    times: int = 0
    last: AcceptedProgram | None = None

    def add(self, one: AcceptedProgram) -> None:
        self.tasks.add(hash(_task_key(one.task)))
        self.times += one.times
        if len(self.tasks) >= _MIN_TASKS:
            self.last = one

    def suspicious(self) -> SuspiciousProgram | None:
        if self.last is None:
            return None
        count = len(self.tasks)
        reason = f"the same text passes {count} tasks"
        return _suspicious(self.last, SEVERAL_TASKS, reason, 1 - 2 / count, self.times)


def _task_key(task: Task) -> object:
    """The identity of a task: its kind and parameters if they are known, else its statement."""
    if task.family and task.parameters:
        return task.family, tuple(sorted(task.parameters.items()))
    return " ".join(task.statement.split())


def _suspicious(one: AcceptedProgram, name: str, reason: str, strength: float, programs: int) -> SuspiciousProgram:
    return SuspiciousProgram(name, reason, strength, one.task.id, programs, one.completion_id, one.program)


def _merge(known: SuspiciousProgram | None, new: SuspiciousProgram) -> SuspiciousProgram:
    """The stronger of both, with the programs of both."""
    if known is None:
        return new
    example = max(known, new, key=lambda suspicious: suspicious.strength)
    return replace(example, programs=known.programs + new.programs)
