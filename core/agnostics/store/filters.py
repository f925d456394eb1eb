"""Which runs, and which of their verifications, a question is about: the one place where such conditions are made."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import ColumnElement, Connection, Select, Table, func, select

from agnostics.store import schema
from agnostics.store.store import Kind

_run, _done = schema.run.c, schema.verification.c
_PORTION = 1000


@dataclass(frozen=True, slots=True)
class RunFilter:
    """Which runs: what is given has to hold. `model` is a part of its name, `since` in UTC."""

    language: str | None = None
    model: str | None = None
    kind: Kind | None = None
    status: str | None = None
    since: datetime | None = None

    def ids(self) -> Select[tuple[str]]:
        """The query of their ids."""
        return select(_run.id).where(*self._conditions())

    def _conditions(self) -> Iterator[ColumnElement[bool]]:
        if self.language is not None:
            yield _run.language_id.in_(select(schema.language.c.id).where(schema.language.c.name == self.language))
        if self.model is not None:
            yield func.lower(_run.model).contains(self.model.lower(), autoescape=True)
        if self.kind is not None:
            yield _run.kind == self.kind
        if self.status is not None:
            yield _run.status == self.status
        if self.since is not None:
            yield _run.started_at >= self.since


EVERY_RUN = RunFilter()


@dataclass(frozen=True, slots=True)
class Filter:
    """Which verifications: what is given has to hold. `run` is an id; `kind` is the family of a task.

    `steps` are the first and the last one meant; `verdicts` are those that are wanted, all where there is none. What
    ran on tests that the model wrote is meant by its phase alone.
    """

    run: str | None = None
    phase: str | None = None
    language: str | None = None
    verdicts: tuple[str, ...] = ()
    steps: tuple[int, int] | None = None
    task: str | None = None
    kind: str | None = None

    def ids(self) -> Select[tuple[int]]:
        """The query of the ids of their completions, in no order."""
        return select(_done.completion_id).where(*self.conditions())

    def conditions(self) -> Iterator[ColumnElement[bool]]:
        """What has to hold of the columns of `schema.verification`."""
        if self.run is not None:
            yield _done.run_id == self.run
        yield _done.phase == self.phase if self.phase is not None else _done.phase != "eval_written"
        if self.language is not None:
            yield _done.run_id.in_(RunFilter(language=self.language).ids())
        if self.verdicts:
            yield _done.verdict.in_(self.verdicts)
        if self.steps is not None:
            yield _done.step.between(*self.steps)
        if self.task is not None:
            yield _done.task_id.in_(select(schema.task.c.id).where(schema.task.c.key == self.task))
        if self.kind is not None:
            yield _done.task_id.in_(select(schema.task.c.id).where(schema.task.c.kind == self.kind))

    def of_view(self, view: Table) -> Iterator[ColumnElement[bool]]:
        """What has to hold of the columns of a view, which names runs, phases, tasks and kinds in words."""
        words = {"run": self.run, "phase": self.phase, "task": self.task, "kind": self.kind}
        yield from (view.c[name] == word for name, word in words.items() if word is not None)
        if self.phase is None and "phase" in view.c:
            yield view.c.phase != "eval_written"
        if self.steps is not None:
            yield view.c.step.between(*self.steps)


def completion_ids(connection: Connection, wanted: Filter, newest: int | None = None) -> Iterator[list[int]]:
    """The ids of the completions that `wanted` means, in order and in portions; or of the `newest`, the newest first.

    Everything else is then read for one portion after the other: memory stays constant, however many there are.
    """
    query = wanted.ids().order_by(_done.completion_id if newest is None else _done.completion_id.desc()).limit(newest)
    rows = connection.execute(query.execution_options(yield_per=_PORTION))
    for portion in rows.partitions():
        yield [row.completion_id for row in portion]
