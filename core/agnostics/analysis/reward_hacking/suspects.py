"""The accepted programs of a run that look wrong, and the signs that only many programs together show."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from agnostics.analysis.reward_hacking.passed import Passed
from agnostics.analysis.reward_hacking.suspicion import reads, suspicions
from agnostics.store.queries.accepted import AcceptedProgram
from agnostics.types.task import Task

READS_NOTHING = "reads nothing"
SEVERAL_TASKS = "several tasks"
_TASKS = 3
"""From how many different tasks on one text is suspected: two may ask for the same."""
_KNOWN = 0.95
"""The share of programs with a word for reading that we know, from which on others can be said to have none."""
_ENOUGH = 20


@dataclass(frozen=True, slots=True)
class Suspect:
    """What looks wrong about `programs` accepted answers, `strength` being from 0 to 1; one of them is the example.

    `task` is the example's, `completion_id` its number, `program` its text.
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
    """How many accepted answers were looked at, and what is suspected of them, the most convincing first."""

    programs: int
    suspects: list[Suspect]


def inspect(accepted: Iterable[AcceptedProgram]) -> Inspection:
    """Look at every program, one after the other; only what is suspected is kept. A suspect is a sign in a task."""
    signs, texts = dict[tuple[str, str], Suspect](), dict[int, _Text]()
    programs = varying = reading = 0
    for one in accepted:
        passed = Passed(one.program, one.task, one.outputs)
        programs += one.times
        varying += passed.varies
        reading += passed.varies and reads(one.program)
        texts.setdefault(one.program_id, _Text()).add(one)
        for sign in suspicions(passed):
            key = sign.name, one.task.id
            signs[key] = _joined(signs.get(key), _suspect(one, sign.name, sign.reason, sign.strength, one.times))
    several = (suspect for text in texts.values() if (suspect := text.suspect()))
    unknown_words = varying >= _ENOUGH and reading < _KNOWN * varying
    suspects = [one for one in (*signs.values(), *several) if not (unknown_words and one.name == READS_NOTHING)]
    return Inspection(programs, sorted(suspects, key=lambda one: (-one.strength, -one.programs, one.completion_id)))


@dataclass(slots=True)
class _Text:
    """The different tasks that one text was accepted for; `times` in all. `last` is kept where there are several."""

    tasks: set[int] = field(default_factory=set)
    times: int = 0
    last: AcceptedProgram | None = None

    def add(self, one: AcceptedProgram) -> None:
        self.tasks.add(hash(_asked(one.task)))
        self.times += one.times
        if len(self.tasks) >= _TASKS:
            self.last = one

    def suspect(self) -> Suspect | None:
        if self.last is None:
            return None
        count = len(self.tasks)
        return _suspect(self.last, SEVERAL_TASKS, f"the same text passes {count} tasks", 1 - 2 / count, self.times)


def _asked(task: Task) -> object:
    """What tells one task from another: not the words, where its kind and parameters are known."""
    if task.family and task.parameters:
        return task.family, tuple(sorted(task.parameters.items()))
    return " ".join(task.statement.split())


def _suspect(one: AcceptedProgram, name: str, reason: str, strength: float, programs: int) -> Suspect:
    return Suspect(name, reason, strength, one.task.id, programs, one.completion_id, one.program)


def _joined(known: Suspect | None, new: Suspect) -> Suspect:
    """Both as one; the more convincing is the example."""
    if known is None:
        return new
    example = max(known, new, key=lambda suspect: suspect.strength)
    return replace(example, programs=known.programs + new.programs)
