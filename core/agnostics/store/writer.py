"""Writes a batch of completions and metrics into the database, in one transaction that the caller holds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from sqlalchemy import Connection, Table, insert, select
from sqlalchemy.dialects import postgresql, sqlite

from agnostics.store import schema
from agnostics.store.records import (
    CompletionRecord,
    Row,
    clean,
    completion_row,
    program_row,
    task_row,
    test_rows,
    verification_row,
)
from agnostics.task import Task

_LOOKUP = 500
_REMEMBERED = 4096


class BatchWriter:
    """Writes the completions of one run; remembers the numbers of the tasks that it met."""

    def __init__(self, run: str) -> None:
        self._run = run
        self._tasks: dict[int, tuple[Task, int]] = {}

    def write(
        self,
        connection: Connection,
        records: Sequence[CompletionRecord],
        metrics: Mapping[tuple[int, str], float],
    ) -> None:
        """Insert `records`, and the `metrics` by step and name; a metric that is there already is replaced."""
        if records:
            self._write_completions(connection, records)
        if metrics:
            rows = [
                {"run_id": self._run, "step": step, "name": name, "value": clean(float(value))}
                for (step, name), value in metrics.items()
            ]
            replace_metrics(connection, rows)

    def _write_completions(self, connection: Connection, records: Sequence[CompletionRecord]) -> None:
        tasks = self._task_ids(connection, [record.task for record in records])
        programs = self._program_ids(connection, records)
        rows = [completion_row(record) for record in records]
        numbering = insert(schema.completion).returning(schema.completion.c.id, sort_by_parameter_order=True)
        ids = connection.scalars(numbering, rows).all()
        outcomes = [
            {"completion_id": id_, **verification_row(self._run, record, task, program)}
            for id_, record, task, program in zip(ids, records, tasks, programs, strict=True)
        ]
        connection.execute(insert(schema.verification), outcomes)
        tests = [row for id_, record in zip(ids, records, strict=True) for row in test_rows(id_, record.verification)]
        if tests:
            connection.execute(insert(schema.test_result), tests)
        rewards = [
            {"completion_id": id_, "value": clean(record.reward), "advantage": clean(record.advantage)}
            for id_, record in zip(ids, records, strict=True)
        ]
        connection.execute(insert(schema.reward), rewards)

    def _task_ids(self, connection: Connection, tasks: Sequence[Task]) -> list[int]:
        """The numbers of `tasks`; the same object is looked up once."""
        new = {id(task): task for task in tasks if id(task) not in self._tasks}
        rows = {key: task_row(task) for key, task in new.items()}
        numbers = ids_of(connection, schema.task, rows.values())
        if len(self._tasks) + len(new) > _REMEMBERED:
            self._tasks = {id(task): self._tasks[id(task)] for task in tasks if id(task) in self._tasks}
        self._tasks |= {key: (task, numbers[rows[key]["sha256"]]) for key, task in new.items()}
        return [self._tasks[id(task)][1] for task in tasks]

    def _program_ids(self, connection: Connection, records: Sequence[CompletionRecord]) -> list[int | None]:
        texts = [record.verification.program for record in records]
        rows = [None if text is None else program_row(clean(text)) for text in texts]
        numbers = ids_of(connection, schema.program, (row for row in rows if row))
        return [None if row is None else numbers[row["sha256"]] for row in rows]


def ids_of(connection: Connection, table: Table, rows: Iterable[Row]) -> dict[bytes, int]:
    """The numbers of content-addressed `rows` by their sha256; those that `table` lacks are inserted.

    Every writer inserts in the order of the sha256, so that no two of them wait for each other.
    """
    new = {row["sha256"]: row for row in rows}
    if not new:
        return {}
    ordered = sorted(new)
    connection.execute(_upsert(connection, table).on_conflict_do_nothing(), [new[digest] for digest in ordered])
    found: dict[bytes, int] = {}
    for start in range(0, len(ordered), _LOOKUP):
        query = select(table.c.sha256, table.c.id).where(table.c.sha256.in_(ordered[start : start + _LOOKUP]))
        found.update((row.sha256, row.id) for row in connection.execute(query))
    return found


def replace_metrics(connection: Connection, rows: Sequence[Row]) -> None:
    """Insert rows of `step_metric`, over those that are there."""
    statement = _upsert(connection, schema.step_metric)
    keys = [column.name for column in schema.step_metric.primary_key]
    connection.execute(
        statement.on_conflict_do_update(index_elements=keys, set_={"value": statement.excluded.value}), rows
    )


def _upsert(connection: Connection, table: Table) -> sqlite.Insert | postgresql.Insert:
    return postgresql.insert(table) if connection.dialect.name == "postgresql" else sqlite.insert(table)
