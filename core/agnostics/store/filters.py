"""Filters on runs and on verifications, as SQL conditions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import ColumnElement, Connection, Select, Table, exists, func, select

from agnostics.store import schema
from agnostics.store.store import RunKind

_run, _verification, _task = schema.run.c, schema.verification.c, schema.task.c
_PORTION = 1000


@dataclass(frozen=True, slots=True)
class RunFilter:
    """Matches runs by every field that is given. `model` is a substring of its name, `since` is in UTC."""

    language: str | None = None
    model: str | None = None
    kind: RunKind | None = None
    status: str | None = None
    since: datetime | None = None

    def ids(self) -> Select[tuple[str]]:
        """The query of the ids of the runs."""
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


ALL_RUNS = RunFilter()


@dataclass(frozen=True, slots=True)
class VerificationFilter:
    """Matches verifications by every field that is given. `run` is a run's id, `task` a task's id in its data set.

    `steps` is an inclusive range; an empty `verdicts` matches all. `turns` is the number of turns of the episode, and
    `failed_tools` matches those with a failed tool call. Verifications on generated tests match only if their phase is
    given.
    """

    run: str | None = None
    phase: str | None = None
    language: str | None = None
    verdicts: tuple[str, ...] = ()
    steps: tuple[int, int] | None = None
    task: str | None = None
    family: str | None = None
    turns: int | None = None
    failed_tools: bool = False

    def ids(self) -> Select[tuple[int]]:
        """The query of the ids of the completions, in no order."""
        return select(_verification.completion_id).where(*self.conditions())

    def conditions(self) -> Iterator[ColumnElement[bool]]:
        """The conditions on the columns of `schema.verification`."""
        phase = _verification.phase
        yield phase == self.phase if self.phase is not None else phase != "eval_generated_tests"
        if self.run is not None:
            yield _verification.run_id == self.run
        if self.language is not None:
            yield _verification.run_id.in_(RunFilter(language=self.language).ids())
        if self.verdicts:
            yield _verification.verdict.in_(self.verdicts)
        if self.steps is not None:
            yield _verification.step.between(*self.steps)
        if self.task is not None:
            yield _verification.task_id.in_(select(_task.id).where(_task.key == self.task))
        if self.family is not None:
            yield _verification.task_id.in_(select(_task.id).where(_task.family == self.family))
        if self.turns is not None:
            yield from _has_turns(self.turns)
        if self.failed_tools:
            yield has_failed_tools()

    def view_conditions(self, view: Table) -> Iterator[ColumnElement[bool]]:
        """The conditions of `run`, `phase`, `task`, `family` and `steps` on the columns of a view."""
        columns = {"run": self.run, "phase": self.phase, "task": self.task, "family": self.family}
        yield from (view.c[name] == value for name, value in columns.items() if value is not None)
        if self.phase is None and "phase" in view.c:
            yield view.c.phase != "eval_generated_tests"
        if self.steps is not None:
            yield view.c.step.between(*self.steps)


def has_failed_tools() -> ColumnElement[bool]:
    """The condition that the episode of a verification has a failed tool call."""
    call = schema.tool_call.c
    return exists().where(call.completion_id == _verification.completion_id, call.ok.is_(False))


def _has_turns(number: int) -> Iterator[ColumnElement[bool]]:
    """A single answer has one turn, and no row of it."""
    if number > 1:
        yield _has_turn(number)
    yield ~_has_turn(number + 1)


def _has_turn(number: int) -> ColumnElement[bool]:
    turn = schema.turn.c
    return exists().where(turn.completion_id == _verification.completion_id, turn.number == number)


def completion_ids(connection: Connection, where: VerificationFilter, newest: int | None = None) -> Iterator[list[int]]:
    """The ids of the completions that match `where`, in order and in portions; or of the `newest`, the newest first.

    Rows are read for one portion after another, so that memory stays constant however many completions match.
    """
    id_ = _verification.completion_id
    query = where.ids().order_by(id_ if newest is None else id_.desc()).limit(newest)
    rows = connection.execute(query.execution_options(yield_per=_PORTION))
    for portion in rows.partitions():
        yield [row.completion_id for row in portion]
