"""The results database for people who write Python: typed rows and data frames, and nothing that could be changed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from datetime import datetime
from functools import partial
from types import TracebackType
from typing import Any, Self, TypeVar

from sqlalchemy import URL, Connection, Table, select

from agnostics.store import views
from agnostics.store.database import connect_read_only, parse_url, reading
from agnostics.store.dataframes import Rows
from agnostics.store.filters import Filter, RunFilter
from agnostics.store.queries.accepted import AcceptedProgram, accepted_programs
from agnostics.store.queries.runs import RunLine, find_run, list_runs, run_line
from agnostics.store.readonly import ask
from agnostics.store.store import Kind
from agnostics.store.verifications import test_rows, verification_rows
from agnostics.store.version import checked
from agnostics.store.views import FirstSolvedRow, GroupRow, PassRateRow, TestRow, VerificationRow

Row = TypeVar("Row")
Steps = tuple[int, int]
"""The first and the last step that is meant."""


def open(url: str) -> Results:
    """The results database at `url` (a path, sqlite:///… or postgresql://…), to read; a context manager.

    Raises UsageError where there is none, or one of another schema.
    """
    return Results(parse_url(url))


class Results:
    """An open results database that is only read. Runs are named by id, by the beginning of one, or as `last`.

    Every method but `run` gives rows that are read while you iterate over them, or as a frame with `to_pandas` or
    `to_polars`. What is given has to hold, and what is not given may be anything.
    """

    def __init__(self, url: URL) -> None:
        self._url = url
        self._engine = checked(connect_read_only(url))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close every connection. Safe to call twice."""
        self._engine.dispose()

    def runs(
        self,
        *,
        language: str | None = None,
        model: str | None = None,
        kind: Kind | None = None,
        status: str | None = None,
        since: datetime | None = None,
    ) -> Rows[RunLine]:
        """The runs, newest first. `model` is a part of its name, `since` in UTC."""
        wanted = RunFilter(language, model, kind, status, since)
        return self._rows(lambda connection: iter(list_runs(connection, wanted)))

    def run(self, name: str = "last") -> RunLine:
        """One run. Raises UsageError where `name` means none or several."""
        with reading(self._engine) as connection:
            return run_line(connection, find_run(connection, name))

    def verifications(
        self,
        run: str | None = None,
        *,
        phase: str | None = None,
        language: str | None = None,
        verdict: str | Collection[str] = (),
        steps: Steps | None = None,
        task: str | None = None,
        kind: str | None = None,
        newest: int | None = None,
    ) -> Rows[VerificationRow]:
        """What models wrote and what became of it, in order; or the `newest` of it, the newest first.

        `verdict` is one or several; `kind` is the family of a task.
        """
        verdicts = (verdict,) if isinstance(verdict, str) else tuple(verdict)
        wanted = Filter(self._id(run), phase, language, verdicts, steps, task, kind)
        return self._rows(partial(verification_rows, wanted=wanted, newest=newest))

    def test_results(
        self,
        run: str | None = None,
        *,
        phase: str | None = None,
        verdict: str | Collection[str] = (),
        steps: Steps | None = None,
        task: str | None = None,
    ) -> Rows[TestRow]:
        """What every test did, of the programs with this `verdict` or these."""
        verdicts = (verdict,) if isinstance(verdict, str) else tuple(verdict)
        wanted = Filter(self._id(run), phase, verdicts=verdicts, steps=steps, task=task)
        return self._rows(partial(test_rows, wanted=wanted))

    def pass_rates(
        self, run: str | None = None, *, phase: str | None = None, steps: Steps | None = None
    ) -> Rows[PassRateRow]:
        """How each task fared in each phase and step."""
        return self._view(views.pass_rates, PassRateRow, Filter(self._id(run), phase, steps=steps))

    def groups(self, run: str | None = None, *, phase: str | None = None, steps: Steps | None = None) -> Rows[GroupRow]:
        """The completions of each prompt together: their rewards, and how many different programs there are."""
        return self._view(views.groups, GroupRow, Filter(self._id(run), phase, steps=steps))

    def first_solved(self, run: str | None = None) -> Rows[FirstSolvedRow]:
        """When training first solved each task that it solved."""
        return self._view(views.first_solved, FirstSolvedRow, Filter(self._id(run)))

    def accepted(self, run: str | None = None, *, phase: str | None = None) -> Rows[AcceptedProgram]:
        """Every accepted program once for its task, with the task and its outputs: to look for cheats among them."""
        return self._rows(partial(accepted_programs, wanted=Filter(self._id(run), phase)))

    def query(self, sql: str, *, seconds: float = 30.0) -> Rows[dict[str, Any]]:
        """The answer to your own SQL, one dictionary per row, within `seconds`.

        Raises UsageError, while it is read, where the database refuses it or the time is up.
        """

        @contextmanager
        def read() -> Iterator[Iterator[dict[str, Any]]]:
            with ask(self._url, sql, seconds=seconds) as answer:
                yield (dict(zip(answer.columns, row, strict=True)) for row in answer.rows)

        return Rows(read)

    def _id(self, run: str | None) -> str | None:
        return None if run is None else self.run(run).run

    def _view(self, view: Table, kind: Callable[..., Row], wanted: Filter) -> Rows[Row]:
        query = select(view).where(*wanted.of_view(view)).execution_options(yield_per=1000)
        return self._rows(lambda connection: (kind(*row) for row in connection.execute(query)))

    def _rows(self, ask_for: Callable[[Connection], Iterator[Row]]) -> Rows[Row]:
        @contextmanager
        def read() -> Iterator[Iterator[Row]]:
            with reading(self._engine) as connection:
                yield ask_for(connection)

        return Rows(read)
