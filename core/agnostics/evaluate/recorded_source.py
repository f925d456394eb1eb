"""Recorded completions, which were sampled elsewhere: one JSON object a line, `{"task", "completion"}`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated

from pydantic import Field, ValidationError

from agnostics.types.errors import UsageError, unknown
from agnostics.types.rollout import Rollout
from agnostics.types.task import Frozen, Task


class RecordedCompletion(Frozen):
    """One line. `sample` counts the completions of a task from 0, by default in the order of the lines.

    `tokens` is the completion's length, by default in characters: it decides which completions are the shortest.
    """

    task: str
    completion: str
    sample: Annotated[int | None, Field(ge=0)] = None
    tokens: Annotated[int | None, Field(ge=0)] = None


def recorded_rollouts(path: Path, tasks: Iterable[Task], done: Mapping[str, frozenset[int]]) -> Iterator[Rollout]:
    """The rollouts in the file `path`, not verified, line by line; those that are `done`, by task, are skipped.

    Raises UsageError, with the line, for one that is malformed, of an unknown task, or there twice.
    """
    by_id = {task.id: task for task in tasks}
    counts, seen = Counter[str](), set[tuple[str, int]]()
    for where, line in _lines(path):
        recorded = _parse(line, where)
        if recorded.task not in by_id:
            raise UsageError(f"{where}: {unknown('task', recorded.task, by_id)}")
        sample = counts[recorded.task] if recorded.sample is None else recorded.sample
        counts[recorded.task] += 1
        if (recorded.task, sample) in seen:
            raise UsageError(f"{where}: a second sample {sample} of the task {recorded.task!r}")
        seen.add((recorded.task, sample))
        if sample not in done.get(recorded.task, ()):
            tokens = len(recorded.completion) if recorded.tokens is None else recorded.tokens
            yield Rollout(task=by_id[recorded.task], sample=sample, text=recorded.completion, num_tokens=tokens)


def _lines(path: Path) -> Iterator[tuple[str, bytes]]:
    try:
        with path.open("rb") as file:
            yield from ((f"{path}:{number}", line) for number, line in enumerate(file, 1) if line.strip())
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from error


def _parse(line: bytes, where: str) -> RecordedCompletion:
    try:
        return RecordedCompletion.model_validate_json(line)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise UsageError(f"{where}: {place + ': ' if place else ''}{first['msg']}") from error
