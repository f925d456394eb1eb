"""The documents behind a name on the command line: the tasks of a data set, or the problems of a file."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from agnostics.plugins.manager import PluginManager
from agnostics.task_prep.decontamination import TaskDocument
from agnostics.task_prep.loaders import load_problems
from agnostics.task_prep.problem import FunctionProblem
from agnostics.types.task import Task


def training_documents(name: str, split: str, plugins: PluginManager) -> Iterator[TaskDocument]:
    """The training tasks in `split` of a data set, or the problems of a file. Raises UsageError."""
    if (problems := _problems(name)) is not None:
        return map(_problem, problems)
    adapter, source = plugins.dataset(name)
    return (_task(task, split) for task in adapter.tasks(split, source=source))


def benchmark_documents(name: str, plugins: PluginManager) -> list[TaskDocument]:
    """The tasks of a benchmark: the split "test" of a data set, else its first split with tasks; or those of a file."""
    if (problems := _problems(name)) is not None:
        return list(map(_problem, problems))
    adapter, source = plugins.dataset(name)
    for split in sorted(adapter.splits, key=lambda split: split != "test"):
        if documents := [_task(task, split) for task in adapter.tasks(split, source=source)]:
            return documents
    return []


def _problems(name: str) -> list[FunctionProblem] | None:
    path = Path(name)
    return load_problems(path) if path.is_file() else None


def _problem(problem: FunctionProblem) -> TaskDocument:
    return TaskDocument(problem.id, problem.description, tuple(map(json.dumps, problem.records)))


def _task(task: Task, split: str) -> TaskDocument:
    """The task as a document, with the line that the adapter `jsonl` reads."""
    fields = task.model_dump(mode="json", exclude_defaults=True)
    return TaskDocument(task.id, task.statement, (json.dumps({"split": split, **fields}),))
