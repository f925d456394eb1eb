"""Full-text search, newest rows first, in ranges of a table so that a request can stop in time."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from sqlalchemy import Column, Connection, Table, func, or_, select

from agnostics.store import schema
from agnostics.store.queries.runs import RunSummary, run_summary
from agnostics.web.queries.completions import CompletionSummary, completion_summaries
from agnostics.web.queries.tasks import TaskDetail, task_detail

SEARCH_SECONDS = 0.6
RANGE_ROWS = 10_000
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class SearchResult(Generic[T]):
    """The matches. `rest` is the id at which the next search continues, None if everything was searched."""

    hits: Sequence[T]
    rest: int | None


def find_programs(
    connection: Connection, text: str, size: int, below: int | None = None
) -> SearchResult[CompletionSummary]:
    """Programs that contain `text`, each with its last completion; those with ids below `below`."""
    ids, rest = _search(connection, schema.program, [schema.program.c.text], text, size, below)
    last = [completion_summaries(connection, schema.verification.c.program_id == id_, size=1) for id_ in ids]
    return SearchResult([completion for completions in last for completion in completions], rest)


def find_tasks(connection: Connection, text: str, size: int, below: int | None = None) -> SearchResult[TaskDetail]:
    """Tasks that contain `text` in their id or statement; those with ids below `below`."""
    columns = [schema.task.c.key, schema.task.c.statement]
    ids, rest = _search(connection, schema.task, columns, text, size, below)
    return SearchResult([task for id_ in ids if (task := task_detail(connection, id_))], rest)


def find_runs(connection: Connection, text: str, size: int) -> list[RunSummary]:
    """The newest runs with `text` in their id, model, data set or language."""
    run = schema.run.c
    matches = [c.icontains(text, autoescape=True) for c in (run.id, run.model, run.dataset, schema.language.c.name)]
    query = select(run.id).join(schema.language).where(or_(*matches))
    return [run_summary(connection, id_) for id_ in connection.scalars(query.order_by(run.id.desc()).limit(size)).all()]


def _search(
    connection: Connection, table: Table, columns: Sequence[Column[Any]], text: str, size: int, below: int | None
) -> tuple[list[int], int | None]:
    """The ids of rows that contain `text`, highest first; stops after `size` rows or 0.6 s, at the second value."""
    end = time.monotonic() + SEARCH_SECONDS
    top = below if below is not None else (connection.scalar(select(func.max(table.c.id))) or 0) + 1
    matches = or_(*(column.icontains(text, autoescape=True) for column in columns))
    ids: list[int] = []
    while top > 1 and len(ids) < size and time.monotonic() < end:
        bottom = max(1, top - RANGE_ROWS)
        query = select(table.c.id).where(table.c.id >= bottom, table.c.id < top, matches).order_by(table.c.id.desc())
        some = connection.scalars(query.limit(size - len(ids))).all()
        ids += some
        top = some[-1] if len(ids) == size else bottom
    return ids, top if top > 1 else None
