"""The Python interface to a results database, read-only: typed rows and data frames."""

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
from agnostics.store.episodes import episode_rows, tool_call_rows, turn_rows, version_span_rows
from agnostics.store.filters import RunFilter, VerificationFilter
from agnostics.store.queries.accepted import AcceptedProgram, accepted_programs
from agnostics.store.queries.runs import RunSummary, find_run, list_runs, run_summary
from agnostics.store.store import RunKind
from agnostics.store.user_sql import run_sql
from agnostics.store.verifications import test_rows, verification_rows
from agnostics.store.version import checked
from agnostics.store.views import (
    EpisodeRow,
    FirstSolvedRow,
    GroupRow,
    PassRateRow,
    TestRow,
    ToolCallRow,
    TurnRow,
    VerificationRow,
    VersionSpanRow,
)

Row = TypeVar("Row")
Steps = tuple[int, int]
"""The first and the last step of an inclusive range."""


def open(url: str) -> Results:
    """Open the results database at `url` (a path, sqlite:///… or postgresql://…) read-only; a context manager.

    Raises UsageError if it does not exist or has another schema.
    """
    return Results(parse_url(url))


class Results:
    """An open results database, read-only. A run is named by its id, a unique prefix of it, or `last`.

    Every method but `run` returns rows that are read during iteration, or as a data frame with `to_pandas` or
    `to_polars`. Arguments are filters that all have to match; an omitted one matches everything.
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
        kind: RunKind | None = None,
        status: str | None = None,
        since: datetime | None = None,
    ) -> Rows[RunSummary]:
        """The runs, newest first. `model` is a substring of its name, `since` is in UTC."""
        run_filter = RunFilter(language, model, kind, status, since)
        return self._rows(lambda connection: iter(list_runs(connection, run_filter)))

    def run(self, name: str = "last") -> RunSummary:
        """One run. Raises UsageError if `name` matches none or several."""
        with reading(self._engine) as connection:
            return run_summary(connection, find_run(connection, name))

    def verifications(
        self,
        run: str | None = None,
        *,
        phase: str | None = None,
        language: str | None = None,
        verdict: str | Collection[str] = (),
        steps: Steps | None = None,
        task: str | None = None,
        family: str | None = None,
        newest: int | None = None,
    ) -> Rows[VerificationRow]:
        """Completions with their verifications, in the order of insertion; or the `newest`, the newest first.

        `verdict` is one or several; `family` is a family of tasks.
        """
        where = self._filter(run, phase, verdict, steps, task, language=language, family=family)
        return self._rows(partial(verification_rows, where=where, newest=newest))

    def test_results(
        self,
        run: str | None = None,
        *,
        phase: str | None = None,
        verdict: str | Collection[str] = (),
        steps: Steps | None = None,
        task: str | None = None,
    ) -> Rows[TestRow]:
        """The result of every test of the programs with one of these verdicts."""
        return self._rows(partial(test_rows, where=self._filter(run, phase, verdict, steps, task)))

    def episodes(
        self,
        run: str | None = None,
        *,
        phase: str | None = None,
        verdict: str | Collection[str] = (),
        steps: Steps | None = None,
        task: str | None = None,
        turns: int | None = None,
        failed_tools: bool = False,
        newest: int | None = None,
    ) -> Rows[EpisodeRow]:
        """Completions as episodes, in the order of insertion; or the `newest`, the newest first.

        `turns` is the number of turns, and `failed_tools` selects episodes with a failed tool call.
        """
        where = self._filter(run, phase, verdict, steps, task, turns=turns, failed_tools=failed_tools)
        return self._rows(partial(episode_rows, where=where, newest=newest))

    def turns(
        self,
        run: str | None = None,
        *,
        phase: str | None = None,
        verdict: str | Collection[str] = (),
        steps: Steps | None = None,
        task: str | None = None,
    ) -> Rows[TurnRow]:
        """The turns of the episodes with one of these verdicts."""
        return self._rows(partial(turn_rows, where=self._filter(run, phase, verdict, steps, task)))

    def tool_calls(
        self,
        run: str | None = None,
        *,
        phase: str | None = None,
        verdict: str | Collection[str] = (),
        steps: Steps | None = None,
        task: str | None = None,
    ) -> Rows[ToolCallRow]:
        """The tool calls of the episodes with one of these verdicts."""
        return self._rows(partial(tool_call_rows, where=self._filter(run, phase, verdict, steps, task)))

    def version_spans(
        self,
        run: str | None = None,
        *,
        phase: str | None = None,
        verdict: str | Collection[str] = (),
        steps: Steps | None = None,
        task: str | None = None,
    ) -> Rows[VersionSpanRow]:
        """The policy versions of the sampled tokens of the completions with one of these verdicts."""
        return self._rows(partial(version_span_rows, where=self._filter(run, phase, verdict, steps, task)))

    def pass_rates(
        self, run: str | None = None, *, phase: str | None = None, steps: Steps | None = None
    ) -> Rows[PassRateRow]:
        """The pass rate of each task in each phase and step."""
        return self._view(views.pass_rates, PassRateRow, VerificationFilter(self._id(run), phase, steps=steps))

    def groups(self, run: str | None = None, *, phase: str | None = None, steps: Steps | None = None) -> Rows[GroupRow]:
        """Statistics of each group, the completions of one prompt: rewards, and the number of distinct programs."""
        return self._view(views.groups, GroupRow, VerificationFilter(self._id(run), phase, steps=steps))

    def first_solved(self, run: str | None = None) -> Rows[FirstSolvedRow]:
        """The first training step in which each task was solved."""
        return self._view(views.first_solved, FirstSolvedRow, VerificationFilter(self._id(run)))

    def accepted(self, run: str | None = None, *, phase: str | None = None) -> Rows[AcceptedProgram]:
        """The distinct accepted programs of each task, with the task and their outputs: to check for reward hacking."""
        return self._rows(partial(accepted_programs, where=VerificationFilter(self._id(run), phase)))

    def query(self, sql: str, *, seconds: float = 30.0) -> Rows[dict[str, Any]]:
        """The result of your own SQL, one dictionary per row; it may take at most `seconds`.

        Raises UsageError, during iteration, if the database rejects it or the time is up.
        """

        @contextmanager
        def read() -> Iterator[Iterator[dict[str, Any]]]:
            with run_sql(self._url, sql, seconds=seconds) as result:
                yield (dict(zip(result.columns, row, strict=True)) for row in result.rows)

        return Rows(read)

    def _id(self, run: str | None) -> str | None:
        return None if run is None else self.run(run).run

    def _filter(
        self,
        run: str | None,
        phase: str | None,
        verdict: str | Collection[str],
        steps: Steps | None,
        task: str | None,
        **others: Any,
    ) -> VerificationFilter:
        verdicts = (verdict,) if isinstance(verdict, str) else tuple(verdict)
        return VerificationFilter(self._id(run), phase, verdicts=verdicts, steps=steps, task=task, **others)

    def _view(self, view: Table, row_type: Callable[..., Row], where: VerificationFilter) -> Rows[Row]:
        query = select(view).where(*where.view_conditions(view)).execution_options(yield_per=1000)
        return self._rows(lambda connection: (row_type(*row) for row in connection.execute(query)))

    def _rows(self, read_rows: Callable[[Connection], Iterator[Row]]) -> Rows[Row]:
        @contextmanager
        def read() -> Iterator[Iterator[Row]]:
            with reading(self._engine) as connection:
                yield read_rows(connection)

        return Rows(read)
