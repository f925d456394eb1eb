"""What a name on the command line stands for, as documents to compare: a data set's tasks, or a file of problems."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from agnostics.plugins.manager import PluginManager
from agnostics.task_prep.decontamination import Document
from agnostics.task_prep.loaders import problems_in
from agnostics.task_prep.problem import Problem
from agnostics.types.task import Task


def training_documents(name: str, split: str, plugins: PluginManager) -> Iterator[Document]:
    """What may be trained on: the tasks of `split`, or the problems of a file. Raises UsageError."""
    if (problems := _problems(name)) is not None:
        return map(_problem, problems)
    adapter, source = plugins.dataset(name)
    return (_task(task, split) for task in adapter.tasks(split, source=source))


def benchmark_documents(name: str, plugins: PluginManager) -> list[Document]:
    """What a benchmark asks for: the split "test" of a data set, the first that has tasks where there is no test."""
    if (problems := _problems(name)) is not None:
        return list(map(_problem, problems))
    adapter, source = plugins.dataset(name)
    for split in sorted(adapter.splits, key=lambda split: split != "test"):
        if documents := [_task(task, split) for task in adapter.tasks(split, source=source)]:
            return documents
    return []


def _problems(name: str) -> list[Problem] | None:
    path = Path(name)
    return problems_in(path) if path.is_file() else None


def _problem(problem: Problem) -> Document:
    return Document(problem.id, problem.description, tuple(map(json.dumps, problem.records)))


def _task(task: Task, split: str) -> Document:
    """The task as a line that the adapter `jsonl` reads."""
    fields = task.model_dump(mode="json", exclude_defaults=True)
    return Document(task.id, task.statement, (json.dumps({"split": split, **fields}),))
