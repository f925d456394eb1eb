"""The results database: how fast a run is written, what that costs a training step, its size, how fast it answers."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from statistics import median
from typing import Any

from agnostics.store import Store
from agnostics.types.errors import MissingRequirement

from agnostics_benchmarks.postgres import postgres_server
from agnostics_benchmarks.rounds import rounded
from agnostics_benchmarks.store_answers import answer_times
from agnostics_benchmarks.store_records import tasks
from agnostics_benchmarks.store_steps import StepCost, neighbour_cost, nothing_cost, recording_cost
from agnostics_benchmarks.store_writing import write_rates

OTHERS = 9
"""Small runs, of a hundredth of all rows each; the first run has the rest."""
TASKS = 1000

Say = Callable[[str], None]


def measure_store(rows: int, steps: int, say: Say) -> dict[str, Any]:
    """The report of `agn bench store`: `rows` verifications on SQLite, a tenth of that on Postgres.

    Nearly all of them are in one run. Without the tools of PostgreSQL its figures are None, and `say` is told why. A
    file's page cache is warm.
    """
    with tempfile.TemporaryDirectory(prefix="agn-store-") as folder:
        sqlite = _sqlite(Path(folder) / "results.db", rows, steps, say)
    postgres = _postgres(rows // 10, steps, say)
    costs = {name: found.pop("cost") for name, found in {"sqlite": sqlite, "postgres": postgres}.items()}
    say("Training steps without recording")
    given = tasks(TASKS)
    controls = {"counting": neighbour_cost(given, steps), "nothing": nothing_cost(given, steps)}
    return {
        "rows": rows,
        **sqlite,
        **postgres,
        "write_share_of_step": rounded(max(cost.longer for cost in costs.values() if cost)),
        "step_beside": {name: cost and _described(cost) for name, cost in {**costs, **controls}.items()},
    }


def _sqlite(path: Path, rows: int, steps: int, say: Say) -> dict[str, Any]:
    given = tasks(TASKS)
    with Store.open(str(path)) as store:
        say(f"SQLite: {rows} verifications")
        sizes = [rows - OTHERS * (rows // 100), *[rows // 100] * OTHERS]
        rates = [rate for seed, size in enumerate(sizes) for rate in write_rates(store, given, size, seed)]
        _checkpoint(store)
        size = path.stat().st_size
        say("SQLite: questions")
        answers = _rounded(answer_times(store))
        say("SQLite: training steps")
        cost = recording_cost(store, given, steps)
    slowest = max(answers, key=answers.__getitem__)
    return {
        "sqlite_verifications_per_s": rounded(median(rates)),
        "bytes_per_program": rounded(size / rows),
        "million_row_list_ms": answers[slowest],
        "slowest": slowest,
        "answers_ms": answers,
        "cost": cost,
    }


def _postgres(rows: int, steps: int, say: Say) -> dict[str, Any]:
    given = tasks(TASKS)
    try:
        with postgres_server(fsync=True) as server, Store.open(server.url) as store:
            say(f"Postgres: {rows} verifications")
            rates = list(write_rates(store, given, rows, seed=0))
            say("Postgres: training steps")
            cost = recording_cost(store, given, steps)
    except MissingRequirement as error:
        say(f"Postgres is not measured: {error}")
        return {"postgres_verifications_per_s": None, "cost": None}
    return {"postgres_verifications_per_s": rounded(median(rates)), "cost": cost}


def _described(cost: StepCost) -> dict[str, float | list[float]]:
    """The parts of a cost by their names, in four digits."""
    parts = {**asdict(cost), "between": list(map(rounded, cost.between))}
    return {name: part if isinstance(part, list) else rounded(part) for name, part in parts.items()}


def _checkpoint(store: Store) -> None:
    """Bring what has been written into the file, where its size counts."""
    with store.engine.connect() as connection:
        connection.exec_driver_sql("commit")
        connection.exec_driver_sql("pragma wal_checkpoint(truncate)")


def _rounded(figures: dict[str, float]) -> dict[str, float]:
    return {name: rounded(value) for name, value in figures.items()}
