"""Commits a run's batches of completions and metrics, each exactly once."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection, Engine, Table, func, select, text
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import DBAPIError

from agnostics.store import schema
from agnostics.store.database import DatabaseUnavailable, writing
from agnostics.store.episode_rows import tool_call_rows, turn_rows, version_span_rows
from agnostics.store.records import (
    CompletionRecord,
    Row,
    completion_row,
    metric_rows,
    program_row,
    reward_row,
    sanitize,
    task_row,
    test_rows,
    verification_row,
)
from agnostics.types.task import Task


def insert_rows(connection: Connection, table: Table, rows: Sequence[Row]) -> None:
    """Insert `rows`, which have the same columns in the same order. Raises DBAPIError."""
    if not rows:
        return
    names = list(rows[0])
    values = zip(*_columns(connection, table, names, rows), strict=True)
    columns = ", ".join(f'"{name}"' for name in names)
    if connection.dialect.name == "postgresql":
        _copy(connection, f"copy {table.name} ({columns}) from stdin", values)
    else:
        marks = ", ".join("?" * len(names))
        connection.exec_driver_sql(f"insert into {table.name} ({columns}) values ({marks})", list(values))


def _columns(
    connection: Connection, table: Table, names: Sequence[str], rows: Iterable[Row]
) -> Iterator[Iterable[Any]]:
    """The columns `names` of `rows`, converted for the driver: compressed texts, JSON."""
    dialect = connection.dialect
    for name, values in zip(names, zip(*(row.values() for row in rows), strict=True), strict=True):
        convert = table.c[name].type.dialect_impl(dialect).bind_processor(dialect)
        yield values if convert is None else map(convert, values)


def _copy(connection: Connection, statement: str, rows: Iterable[Sequence[Any]]) -> None:
    psycopg = connection.dialect.loaded_dbapi
    driver = connection.connection.cursor()
    try:
        with driver.copy(statement, writer=_BufferedWriter(psycopg.copy.LibpqWriter(driver))) as copy:
            for row in rows:
                copy.write_row(row)
    except psycopg.Error as error:
        raise DBAPIError(statement, None, error) from error
    finally:
        driver.close()


class _BufferedWriter:
    """A writer for psycopg's `copy` that sends nothing until all rows are encoded.

    Otherwise the server would read while rows are still being encoded: two processes, not one, would compete with the
    trainer for processors.
    """

    def __init__(self, writer: Any) -> None:
        self._writer = writer
        self._parts: list[bytes | bytearray] = []

    def write(self, part: bytes | bytearray) -> None:
        self._parts.append(part)

    def finish(self, error: BaseException | None = None) -> None:
        if error is None:
            self._writer.write(b"".join(self._parts))
        self._writer.finish(error)


_LOOKUP = 500
_MOST_CACHED_TASKS = 4096


@dataclass(slots=True)
class Batch:
    """Completions, and metrics by step and name, that are committed together; an existing metric is replaced.

    In Postgres, `ids` are the reserved ids of the completions (`reserve_ids`). A retry uses the same ids, so that a
    commit whose acknowledgement was lost is detected.
    """

    records: Sequence[CompletionRecord]
    metrics: Mapping[tuple[int, str], float] = field(default_factory=dict)
    ids: list[int] | None = None


_FURTHER_ROWS: Mapping[Table, Callable[[int, CompletionRecord], Iterable[Row]]] = {
    schema.turn: turn_rows,
    schema.tool_call: tool_call_rows,
    schema.version_span: version_span_rows,
    schema.completion_metric: metric_rows,
}
"""The tables that a single answer without metrics has no rows in."""


class BatchWriter:
    """Inserts the completions and metrics of one run; caches the ids of its tasks."""

    def __init__(self, run: str) -> None:
        self._run = run
        self._tasks: dict[int, tuple[Task, int]] = {}

    def write(self, connection: Connection, batch: Batch) -> None:
        """Insert `batch`, unless an earlier attempt has committed it."""
        if batch.ids and _exists(connection, batch.ids[0]):
            return
        if batch.records:
            self._write_completions(connection, batch)
        if batch.metrics:
            rows = [
                {"run_id": self._run, "step": step, "name": name, "value": sanitize(float(value))}
                for (step, name), value in batch.metrics.items()
            ]
            replace_metrics(connection, rows)

    def forget(self) -> None:
        """Clear the cache of task ids, which may refer to rows of a transaction that was rolled back."""
        self._tasks = {}

    def _write_completions(self, connection: Connection, batch: Batch) -> None:
        records = batch.records
        tasks = self._task_ids(connection, [record.task for record in records])
        programs = self._program_ids(connection, records)
        entries = list(zip(_completion_ids(connection, batch), records, tasks, programs, strict=True))
        insert_rows(connection, schema.completion, [completion_row(id_, record) for id_, record, _, _ in entries])
        verifications = [
            verification_row(id_, self._run, record, task, program) for id_, record, task, program in entries
        ]
        insert_rows(connection, schema.verification, verifications)
        tests = [row for id_, record, _, _ in entries for row in test_rows(id_, record.verification)]
        insert_rows(connection, schema.test_result, tests)
        insert_rows(connection, schema.reward, [reward_row(id_, record) for id_, record, _, _ in entries])
        for table, rows_of in _FURTHER_ROWS.items():
            insert_rows(connection, table, [row for id_, record, _, _ in entries for row in rows_of(id_, record)])

    def _task_ids(self, connection: Connection, tasks: Sequence[Task]) -> list[int]:
        """The ids of `tasks`; the same object is looked up once."""
        new = {id(task): task for task in tasks if id(task) not in self._tasks}
        rows = {key: task_row(task) for key, task in new.items()}
        ids = ensure_ids(connection, schema.task, rows.values())
        if len(self._tasks) + len(new) > _MOST_CACHED_TASKS:
            self._tasks = {id(task): self._tasks[id(task)] for task in tasks if id(task) in self._tasks}
        self._tasks |= {key: (task, ids[rows[key]["sha256"]]) for key, task in new.items()}
        return [self._tasks[id(task)][1] for task in tasks]

    def _program_ids(self, connection: Connection, records: Sequence[CompletionRecord]) -> list[int | None]:
        texts = [record.verification.program for record in records]
        rows = [None if text is None else program_row(sanitize(text)) for text in texts]
        ids = ensure_ids(connection, schema.program, (row for row in rows if row))
        return [None if row is None else ids[row["sha256"]] for row in rows]


def _exists(connection: Connection, completion_id: int) -> bool:
    return connection.scalar(select(schema.completion.c.id).where(schema.completion.c.id == completion_id)) is not None


def reserve_ids(connection: Connection, count: int) -> list[int]:
    """Reserve ids for `count` completions in Postgres; they are unique once the transaction is committed.

    That transaction must precede the one that writes: after a crash, a server reuses sequence values that were not
    committed. It needs a transaction id, which is assigned here, so that its commit waits for the disk.
    """
    connection.execute(text("set local synchronous_commit = on"))
    connection.execute(text("select pg_current_xact_id()"))
    next_ = "select nextval(pg_get_serial_sequence('completion', 'id')) from generate_series(1, :count)"
    return list(connection.scalars(text(next_), {"count": count}))


def _completion_ids(connection: Connection, batch: Batch) -> Sequence[int]:
    """The ids of the completions of `batch`: in SQLite, with one writer at a time, the next ones."""
    if batch.ids is not None:
        return batch.ids
    last = connection.scalar(select(func.max(schema.completion.c.id))) or 0
    return range(last + 1, last + 1 + len(batch.records))


def ensure_ids(connection: Connection, table: Table, rows: Iterable[Row]) -> dict[bytes, int]:
    """The ids of content-addressed `rows` by their sha256; rows that `table` lacks are inserted.

    Every writer inserts in the order of the sha256, so that no two of them deadlock.
    """
    new = {row["sha256"]: row for row in rows}
    if not new:
        return {}
    ordered = sorted(new)
    connection.execute(_upsert(connection, table).on_conflict_do_nothing(), [new[digest] for digest in ordered])
    ids: dict[bytes, int] = {}
    for start in range(0, len(ordered), _LOOKUP):
        query = select(table.c.sha256, table.c.id).where(table.c.sha256.in_(ordered[start : start + _LOOKUP]))
        ids.update((row.sha256, row.id) for row in connection.execute(query))
    return ids


def replace_metrics(connection: Connection, rows: Sequence[Row]) -> None:
    """Insert rows of `step_metric`; existing ones are replaced."""
    statement = _upsert(connection, schema.step_metric)
    keys = [column.name for column in schema.step_metric.primary_key]
    connection.execute(
        statement.on_conflict_do_update(index_elements=keys, set_={"value": statement.excluded.value}), rows
    )


def _upsert(connection: Connection, table: Table) -> sqlite.Insert | postgresql.Insert:
    return postgresql.insert(table) if connection.dialect.name == "postgresql" else sqlite.insert(table)


RETRY_SECONDS = 60.0
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.05, 2.0

_log = logging.getLogger(__name__)


class RetryingWriter:
    """Commits the batches of one run, one after another, with retries."""

    def __init__(self, engine: Engine, run: str) -> None:
        self._engine = engine
        self._writer = BatchWriter(run)

    def commit(self, batch: Batch) -> None:
        """Commit `batch` exactly once; retries for a minute if the server is unavailable or the file is locked.

        Raises AgnosticsError, after which no other batch may be committed: it would follow a gap.
        """
        end, pause = time.monotonic() + RETRY_SECONDS, FIRST_PAUSE_S
        while True:
            try:
                return self._commit(batch)
            except DatabaseUnavailable as error:
                self._writer.forget()
                if time.monotonic() + pause > end:
                    raise DatabaseUnavailable(f"{error}; gave up after {RETRY_SECONDS:g} s") from error
                if pause == FIRST_PAUSE_S:
                    _log.warning("%s; trying again for %.0f s", error, RETRY_SECONDS)
            time.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE_S)

    def _commit(self, batch: Batch) -> None:
        if self._engine.dialect.name == "postgresql" and batch.records and batch.ids is None:
            with writing(self._engine) as connection:
                ids = reserve_ids(connection, len(batch.records))
            batch.ids = ids
        with writing(self._engine) as connection:
            self._writer.write(connection, batch)
