"""Write access to a results database: open it, start, resume and finish runs, and record them."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, Literal, Self

from sqlalchemy import Connection, Engine, and_, delete, insert, or_, select, update

from agnostics.store import schema
from agnostics.store.database import connect, parse_url, writing
from agnostics.store.deletion import delete_completions
from agnostics.store.recorder import Recorder
from agnostics.store.records import language_row, sanitize
from agnostics.store.version import checked
from agnostics.store.writer.batch import RetryingWriter, ensure_ids
from agnostics.store.writer.process import WriterProcess
from agnostics.types.errors import unknown_name_error
from agnostics.types.language import Language

RunKind = Literal["train", "eval", "sft"]
RunStatus = Literal["finished", "interrupted", "failed"]


class Store:
    """An open results database; a context manager. Safe to use from several threads."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    @classmethod
    def open(cls, url: str, *, create: bool = True) -> Self:
        """Open the database at `url` (a SQLAlchemy URL, or a path); create it if it is absent and `create` is true.

        Raises UsageError if it has another schema than this code, is not a results database, or does not exist;
        AgnosticsError if it cannot be opened.
        """
        return cls(checked(connect(parse_url(url)), create=create))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close every connection. Safe to call twice."""
        self.engine.dispose()

    def start_run(
        self,
        *,
        kind: RunKind,
        config: Mapping[str, Any],
        language: Language,
        model: str,
        dataset: str,
        seed: int,
    ) -> str:
        """Insert a new run with the status `running` and return its id; ids sort by the time of the start."""
        now = datetime.now(UTC).replace(tzinfo=None)
        run = f"{now:%Y%m%d-%H%M%S}-{_suffix()}"
        row = language_row(language)
        with writing(self.engine) as connection:
            language_id = ensure_ids(connection, schema.language, [row])[row["sha256"]]
            values = {"kind": kind, "model": model, "dataset": dataset, "seed": seed, "config": sanitize(config)}
            start = {"id": run, "status": "running", "language_id": language_id, "started_at": now}
            connection.execute(insert(schema.run).values(**start, **values))
        return run

    def recorder(self, run: str) -> Recorder:
        """A recorder of `run` that commits on a thread of this process; enter it before use."""
        return Recorder(RetryingWriter(self.engine, run).commit, self.engine.url, run)

    @contextmanager
    def out_of_process_recorder(self, run: str) -> Iterator[Recorder]:
        """As `recorder`, with a process that commits: thousands of rows a second do not hold the trainer's GIL.

        If that process is killed, the next call raises AgnosticsError; committed batches stay.
        """
        url = self.engine.url
        with WriterProcess(url, run) as process, Recorder(process.commit, url, run) as recorder:
            yield recorder

    def finish_run(self, run: str, status: RunStatus, summary: Mapping[str, Any]) -> None:
        """Store the status and summary of a run that has ended. Raises UsageError for an unknown run."""
        now = datetime.now(UTC).replace(tzinfo=None)
        with writing(self.engine) as connection:
            _update_run(connection, run, status=status, summary=sanitize(summary), finished_at=now)

    def resume_run(self, run: str, step: int, *, measured: bool = True) -> None:
        """Reset `run` to its checkpoint after `step` and set it running; later completions and metrics are deleted.

        These are the later steps, the final evaluation, and unless the checkpoint includes it (`measured`) the
        evaluation after `step`; with step -1, everything. Raises UsageError for an unknown run.
        """
        verification, metric = schema.verification.c, schema.step_metric.c
        phases = ["eval_after"] if measured else ["eval_after", "eval_during"]
        of_phases = or_(*(metric.name.startswith(f"{phase}_") for phase in phases))
        later = or_(verification.step > step, and_(verification.step == step, verification.phase.in_(phases)))
        metrics = or_(metric.step > step, and_(metric.step == step, of_phases))
        with writing(self.engine) as connection:
            _update_run(connection, run, status="running", summary=None, finished_at=None)
            delete_completions(connection, and_(verification.run_id == run, later))
            connection.execute(delete(schema.step_metric).where(metric.run_id == run, metrics))


def _update_run(connection: Connection, run: str, **values: Any) -> None:
    if not connection.execute(update(schema.run).where(schema.run.c.id == run).values(**values)).rowcount:
        raise unknown_name_error("run", run, connection.scalars(select(schema.run.c.id)))


def _suffix() -> str:
    return "".join(random.SystemRandom().choices("abcdefghjkmnpqrstuvwxyz23456789", k=4))
