"""Texts that hold what a person looks for: the newest first, in a stretch of the table at a time."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from sqlalchemy import Column, Connection, Table, func, or_, select

from agnostics.store import schema
from agnostics.store.queries.runs import RunSummary, run_summary
from agnostics.web.queries.completions import Answer, answers
from agnostics.web.queries.tasks import TaskText, task_text

SEARCH_SECONDS = 0.6
STRETCH = 10_000
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Found(Generic[T]):
    """What was found. `rest` is where a further search goes on, None where everything was searched."""

    hits: Sequence[T]
    rest: int | None


def find_programs(connection: Connection, text: str, size: int, below: int | None = None) -> Found[Answer]:
    """Programs that hold `text`, each as it was written last; those numbered below `below`."""
    ids, rest = _search(connection, schema.program, [schema.program.c.text], text, size, below)
    last = [answers(connection, schema.verification.c.program_id == id_, size=1) for id_ in ids]
    return Found([one for found in last for one in found], rest)


def find_tasks(connection: Connection, text: str, size: int, below: int | None = None) -> Found[TaskText]:
    """Tasks that hold `text` in their id or statement; those numbered below `below`."""
    columns = [schema.task.c.key, schema.task.c.statement]
    ids, rest = _search(connection, schema.task, columns, text, size, below)
    return Found([task for id_ in ids if (task := task_text(connection, id_))], rest)


def find_runs(connection: Connection, text: str, size: int) -> list[RunSummary]:
    """The newest runs with `text` in their id, model, data set or language."""
    run = schema.run.c
    holds = [c.icontains(text, autoescape=True) for c in (run.id, run.model, run.dataset, schema.language.c.name)]
    query = select(run.id).join(schema.language).where(or_(*holds))
    return [run_summary(connection, id_) for id_ in connection.scalars(query.order_by(run.id.desc()).limit(size)).all()]


def _search(
    connection: Connection, table: Table, columns: Sequence[Column[Any]], text: str, size: int, below: int | None
) -> tuple[list[int], int | None]:
    """The numbers of rows that hold `text`, highest first, and where to go on after `size` of them or 0.6 s."""
    end = time.monotonic() + SEARCH_SECONDS
    top = below if below is not None else (connection.scalar(select(func.max(table.c.id))) or 0) + 1
    holds = or_(*(column.icontains(text, autoescape=True) for column in columns))
    found: list[int] = []
    while top > 1 and len(found) < size and time.monotonic() < end:
        bottom = max(1, top - STRETCH)
        query = select(table.c.id).where(table.c.id >= bottom, table.c.id < top, holds).order_by(table.c.id.desc())
        some = connection.scalars(query.limit(size - len(found))).all()
        found += some
        top = some[-1] if len(found) == size else bottom
    return found, top if top > 1 else None
