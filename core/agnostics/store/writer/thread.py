"""Writes a batch of completions and metrics into the database, in one transaction that the caller holds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from sqlalchemy import Connection, Table, func, select, text
from sqlalchemy.dialects import postgresql, sqlite

from agnostics.store import schema
from agnostics.store.records import (
    CompletionRecord,
    Row,
    clean,
    completion_row,
    program_row,
    reward_row,
    task_row,
    test_rows,
    verification_row,
)
from agnostics.store.writer.bulk_insert import insert_rows
from agnostics.types.task import Task

_LOOKUP = 500
_REMEMBERED = 4096


@dataclass(slots=True)
class Batch:
    """What is committed together: completions, and figures by step and name; a figure that is there is replaced.

    `numbers` are those of the completions, in Postgres: see `reserved_numbers`. They are kept when a commit is tried
    again, so that one whose answer was lost is found.
    """

    records: Sequence[CompletionRecord]
    metrics: Mapping[tuple[int, str], float] = field(default_factory=dict)
    numbers: list[int] | None = None


class BatchWriter:
    """Writes the completions of one run; remembers the numbers of the tasks that it met."""

    def __init__(self, run: str) -> None:
        self._run = run
        self._tasks: dict[int, tuple[Task, int]] = {}

    def write(self, connection: Connection, batch: Batch) -> None:
        """Insert `batch`, unless an earlier attempt has: then there is nothing to do."""
        if batch.numbers and _is_there(connection, batch.numbers[0]):
            return
        if batch.records:
            self._write_completions(connection, batch)
        if batch.metrics:
            rows = [
                {"run_id": self._run, "step": step, "name": name, "value": clean(float(value))}
                for (step, name), value in batch.metrics.items()
            ]
            replace_metrics(connection, rows)

    def forget(self) -> None:
        """Look every task up again: what a transaction that was rolled back had inserted is gone."""
        self._tasks = {}

    def _write_completions(self, connection: Connection, batch: Batch) -> None:
        records = batch.records
        tasks = self._task_ids(connection, [record.task for record in records])
        programs = self._program_ids(connection, records)
        made = list(zip(_numbers(connection, batch), records, tasks, programs, strict=True))
        insert_rows(connection, schema.completion, [completion_row(number, record) for number, record, _, _ in made])
        outcomes = [
            verification_row(number, self._run, record, task, program) for number, record, task, program in made
        ]
        insert_rows(connection, schema.verification, outcomes)
        tests = [row for number, record, _, _ in made for row in test_rows(number, record.verification)]
        insert_rows(connection, schema.test_result, tests)
        insert_rows(connection, schema.reward, [reward_row(number, record) for number, record, _, _ in made])

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


def _is_there(connection: Connection, number: int) -> bool:
    return connection.scalar(select(schema.completion.c.id).where(schema.completion.c.id == number)) is not None


def reserved_numbers(connection: Connection, count: int) -> list[int]:
    """Numbers for `count` completions in Postgres, which nobody else gets once the transaction is committed.

    It has to be one of its own, before the one that writes: a server that crashes gives out again what was not
    committed. With a number of its own, which it is given here, its commit waits for the disk.
    """
    connection.execute(text("set local synchronous_commit = on"))
    connection.execute(text("select pg_current_xact_id()"))
    next_ = "select nextval(pg_get_serial_sequence('completion', 'id')) from generate_series(1, :count)"
    return list(connection.scalars(text(next_), {"count": count}))


def _numbers(connection: Connection, batch: Batch) -> Sequence[int]:
    """The numbers of the completions of `batch`: in SQLite, where one process writes at a time, the next ones."""
    if batch.numbers is not None:
        return batch.numbers
    last = connection.scalar(select(func.max(schema.completion.c.id))) or 0
    return range(last + 1, last + 1 + len(batch.records))


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
