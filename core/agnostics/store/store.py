"""The door to a results database: open it, start, resume and finish runs, and record what happens in them."""

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
from agnostics.store.records import clean, language_row
from agnostics.store.version import checked
from agnostics.store.writer.commit import Committer
from agnostics.store.writer.process import CommittingProcess
from agnostics.store.writer.thread import ids_of
from agnostics.types.errors import unknown_name_error
from agnostics.types.language import Language

Kind = Literal["train", "eval"]
Status = Literal["finished", "interrupted", "failed"]


class Store:
    """An open results database; a context manager. Safe to use from several threads."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    @classmethod
    def open(cls, url: str, *, create: bool = True) -> Self:
        """The database at `url` (a SQLAlchemy URL, or a path), made where there is none and `create` is true.

        Raises UsageError where it has another schema than this code, is somebody else's, or is not there;
        AgnosticsError where it does not open.
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
        kind: Kind,
        config: Mapping[str, Any],
        language: Language,
        model: str,
        dataset: str,
        seed: int,
    ) -> str:
        """Store a new run, running from now on, and return its id; ids sort by the time of the start."""
        now = datetime.now(UTC).replace(tzinfo=None)
        run = f"{now:%Y%m%d-%H%M%S}-{_suffix()}"
        row = language_row(language)
        with writing(self.engine) as connection:
            number = ids_of(connection, schema.language, [row])[row["sha256"]]
            values = {"kind": kind, "model": model, "dataset": dataset, "seed": seed, "config": clean(config)}
            started = {"id": run, "status": "running", "language_id": number, "started_at": now}
            connection.execute(insert(schema.run).values(**started, **values))
        return run

    def recorder(self, run: str) -> Recorder:
        """The writer of what happens in `run`; enter it before use."""
        return Recorder(Committer(self.engine, run).commit, self.engine.url, run)

    @contextmanager
    def recorder_apart(self, run: str) -> Iterator[Recorder]:
        """As `recorder`, with a process that commits: thousands of rows a second hold up no trainer beside them.

        Where that process is killed, the next call raises AgnosticsError, and what it had committed stays.
        """
        url = self.engine.url
        with CommittingProcess(url, run) as process, Recorder(process.commit, url, run) as recorder:
            yield recorder

    def finish_run(self, run: str, status: Status, summary: Mapping[str, Any]) -> None:
        """Store how `run` ended. Raises UsageError for an unknown run."""
        now = datetime.now(UTC).replace(tzinfo=None)
        with writing(self.engine) as connection:
            _update_run(connection, run, status=status, summary=clean(summary), finished_at=now)

    def resume_run(self, run: str, step: int, *, measured: bool = True) -> None:
        """Take `run` back to the checkpoint after `step`, running again: what is stored beyond it is deleted.

        Beyond it are later steps and the evaluation that ends a run, and unless the checkpoint had it (`measured`) the
        one after `step`, figures included; with step -1, everything. Raises UsageError for an unknown run.
        """
        made, metric = schema.verification.c, schema.step_metric.c
        phases = ["eval_after"] if measured else ["eval_after", "eval_during"]
        named = or_(*(metric.name.startswith(f"{phase}_") for phase in phases))
        later = or_(made.step > step, and_(made.step == step, made.phase.in_(phases)))
        metrics = or_(metric.step > step, and_(metric.step == step, named))
        with writing(self.engine) as connection:
            _update_run(connection, run, status="running", summary=None, finished_at=None)
            delete_completions(connection, and_(made.run_id == run, later))
            connection.execute(delete(schema.step_metric).where(metric.run_id == run, metrics))


def _update_run(connection: Connection, run: str, **values: Any) -> None:
    if not connection.execute(update(schema.run).where(schema.run.c.id == run).values(**values)).rowcount:
        raise unknown_name_error("run", run, connection.scalars(select(schema.run.c.id)))


def _suffix() -> str:
    return "".join(random.SystemRandom().choices("abcdefghjkmnpqrstuvwxyz23456789", k=4))
