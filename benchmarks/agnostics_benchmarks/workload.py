"""Workload of a sandbox benchmark: a language's own reference programs, each with the requested number of tests."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import cycle, islice

from agnostics.sandbox.job_codec import job_for
from agnostics.sandbox.protocol import encode
from agnostics.types.errors import UsageError
from agnostics.types.language import Language
from agnostics.types.task import LimitOverrides, Task

PATIENT = LimitOverrides(run_s=10.0)


@dataclass(frozen=True)
class Workload:
    """Programs of one language with their tests, repeated in the same order as often as needed."""

    language: Language
    cases: tuple[tuple[str, Task], ...]

    def lines(self, count: int) -> bytes:
        """`count` requests to `agn verify`."""
        return b"".join(_line(self.language, program, task) for program, task in islice(cycle(self.cases), count))

    def frames(self, count: int) -> list[bytes]:
        """The same as jobs for a harness."""
        cases = islice(cycle(self.cases), count)
        return [bytes(encode(job_for(self.language, *case, stop_on_failure=False))) for case in cases]


def make_workload(language: Language, tasks: Iterable[Task], tests: int) -> Workload:
    """The right programs of `language` for the first task of each family, with `tests` tests each.

    Raises UsageError where the language has no right programs.
    """
    cases = tuple((program, _with_tests(task, tests)) for program, task in _solved(language, tasks))
    if not cases:
        raise UsageError(f"there are no right programs in {language.name} to measure with: its pack has no reference/")
    return Workload(language, cases)


def _solved(language: Language, tasks: Iterable[Task]) -> Iterator[tuple[str, Task]]:
    seen: set[str | None] = set()
    for task in tasks:
        program = language.reference_for(task)
        if program and task.family not in seen:
            seen.add(task.family)
            yield program, task
        if len(seen) == len(language.reference):
            return


def _with_tests(task: Task, count: int) -> Task:
    return task.model_copy(update={"tests": tuple(islice(cycle(task.tests), count)), "limits": PATIENT})


def _line(language: Language, program: str, task: Task) -> bytes:
    request = {
        "id": task.id,
        "language": language.name,
        "program": program,
        "tests": [test.model_dump() for test in task.tests],
        "compare": task.compare.model_dump(),
        "limits": task.limits.model_dump(exclude_none=True),
    }
    return json.dumps(request).encode() + b"\n"
