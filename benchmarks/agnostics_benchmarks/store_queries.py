"""Latency of typical queries on the results database."""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median
from typing import Any

from agnostics.store import Store
from agnostics.store.database import reading
from agnostics.store.queries import runs as queries
from sqlalchemy import Connection, text

ROWS = 1000
"""The number of rows to fetch: as many as `agn results query` prints, and more than fit on a page."""
REPEATS = 3
_FILTERS = {
    "run": "run = :run",
    "language": "language = 'lua'",
    "verdict": "verdict = 'compile_error'",
    "step": "run = :run and phase = 'train' and step = 20",
    "task": "task = 'bench/7'",
    "run and verdict": "run = :run and verdict = 'no_program'",
}
_VIEWS = ("verifications", "test_results", "pass_rates", "groups", "first_solved", "episodes", "turns", "version_spans")


def query_times(store: Store) -> dict[str, float]:
    """The median of three latencies of each query, in ms: lists, filters, views, and the report of a run.

    The run is the one with the most programs.
    """
    with reading(store.engine) as connection:
        run = max(queries.list_runs(connection), key=lambda line: line.completions).run
        return {name: _milliseconds(query, connection) for name, query in _queries(run).items()}


def _queries(run: str) -> dict[str, Callable[[Connection], Any]]:
    newest = "select * from verifications where {} order by completion_id desc limit 50"
    return {
        "list": queries.list_runs,
        "show": lambda connection: _show(connection, run),
        **{f"filter by {name}": _fetch(newest.format(where), run) for name, where in _FILTERS.items()},
        **{f"{view} of a run": _fetch(f"select * from {view} where run = :run", run) for view in _VIEWS},
        **{view: _fetch(f"select * from {view}", run) for view in _VIEWS},
    }


def _show(connection: Connection, run: str) -> None:
    queries.run_summary(connection, run)
    queries.scores(connection, run, seed=0)
    queries.curve(connection, run)
    queries.family_counts(connection, run)
    queries.verdicts(connection, run)


def _fetch(query: str, run: str) -> Callable[[Connection], Any]:
    parameters = {"run": run} if ":run" in query else {}
    return lambda connection: connection.execute(text(query), parameters).fetchmany(ROWS)


def _milliseconds(query: Callable[[Connection], Any], connection: Connection) -> float:
    return median(_once(query, connection) for _ in range(REPEATS))


def _once(query: Callable[[Connection], Any], connection: Connection) -> float:
    start = time.perf_counter()
    query(connection)
    return (time.perf_counter() - start) * 1000
