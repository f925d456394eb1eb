"""Completions that were sampled elsewhere: one JSON object a line, `{"task", "completion"}`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated

from pydantic import Field, ValidationError

from agnostics.evaluate.sources import Answered, Wanted
from agnostics.types.errors import UsageError, unknown_name_error
from agnostics.types.language import Language
from agnostics.types.task import Frozen, Task


class Recorded(Frozen):
    """One line. `sample` counts the answers to a task from 0, by default in the order of the lines.

    `tokens` is the answer's length, by default in characters: it decides which answers are the shortest.
    """

    task: str
    completion: str
    sample: Annotated[int | None, Field(ge=0)] = None
    tokens: Annotated[int | None, Field(ge=0)] = None


class RecordedSource:
    """Reads answers from the file `path` line by line; keeps the tasks, and which answers there were.

    Those that are `done`, by task, are passed over. Raises UsageError, with the line, for one that is malformed, of an
    unknown task, or there twice.
    """

    def __init__(self, path: Path, done: Mapping[str, frozenset[int]]) -> None:
        self._path, self._done = path, done
        if not path.is_file():
            raise UsageError(f"{path}: no such file")

    def __call__(self, wanted: Iterable[Wanted], _language: Language) -> Iterator[Answered]:
        """See `Source`: all answers in the file, whatever their number and however they were asked."""
        tasks = {task.id: task for task, _ in wanted}
        lines, seen = Counter[str](), set[tuple[str, int]]()
        for where, line in self._lines():
            recorded = _parse(line, where)
            if recorded.task not in tasks:
                raise UsageError(f"{where}: {unknown_name_error('task', recorded.task, tasks)}")
            sample = lines[recorded.task] if recorded.sample is None else recorded.sample
            lines[recorded.task] += 1
            if (recorded.task, sample) in seen:
                raise UsageError(f"{where}: a second sample {sample} of the task {recorded.task!r}")
            seen.add((recorded.task, sample))
            if sample not in self._done.get(recorded.task, ()):
                yield _answered(tasks[recorded.task], sample, recorded)

    def _lines(self) -> Iterator[tuple[str, bytes]]:
        try:
            with self._path.open("rb") as file:
                yield from ((f"{self._path}:{number}", line) for number, line in enumerate(file, 1) if line.strip())
        except OSError as error:
            raise UsageError(f"{self._path}: {error.strerror}") from error


def _parse(line: bytes, where: str) -> Recorded:
    try:
        return Recorded.model_validate_json(line)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise UsageError(f"{where}: {place + ': ' if place else ''}{first['msg']}") from error


def _answered(task: Task, sample: int, recorded: Recorded) -> Answered:
    tokens = len(recorded.completion) if recorded.tokens is None else recorded.tokens
    return Answered(task, sample, recorded.completion, tokens, "stop")
