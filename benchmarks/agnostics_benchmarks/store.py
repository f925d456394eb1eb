"""Benchmark of the results database: write throughput, cost per training step, file size, and query latency."""

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
from agnostics_benchmarks.store_queries import query_times
from agnostics_benchmarks.store_records import tasks
from agnostics_benchmarks.store_steps import StepCost, neighbour_cost, nothing_cost, recording_cost
from agnostics_benchmarks.store_writing import write_rates

OTHERS = 9
"""The number of small runs with a hundredth of all rows each; the first run has the rest."""
TASKS = 1000

Say = Callable[[str], None]


def measure_store(rows: int, steps: int, say: Say) -> dict[str, Any]:
    """The report of `agn bench store`: `rows` verifications on SQLite, a tenth of that on Postgres.

    Nearly all of them are in one run. Without the tools of PostgreSQL its values are None, and `say` reports why. The
    page cache is warm.
    """
    with tempfile.TemporaryDirectory(prefix="agn-store-") as folder:
        sqlite = _sqlite(Path(folder) / "results.db", rows, steps, say)
    postgres = _postgres(rows // 10, steps, say)
    costs = {name: report.pop("cost") for name, report in {"sqlite": sqlite, "postgres": postgres}.items()}
    say("Training steps without recording")
    bench_tasks = tasks(TASKS)
    controls = {"counting": neighbour_cost(bench_tasks, steps), "nothing": nothing_cost(bench_tasks, steps)}
    return {
        "rows": rows,
        **sqlite,
        **postgres,
        "write_share_of_step": rounded(max(cost.longer for cost in costs.values() if cost)),
        "step_beside": {name: cost and _described(cost) for name, cost in {**costs, **controls}.items()},
    }


def _sqlite(path: Path, rows: int, steps: int, say: Say) -> dict[str, Any]:
    bench_tasks = tasks(TASKS)
    with Store.open(str(path)) as store:
        say(f"SQLite: {rows} verifications")
        sizes = [rows - OTHERS * (rows // 100), *[rows // 100] * OTHERS]
        rates = [rate for seed, size in enumerate(sizes) for rate in write_rates(store, bench_tasks, size, seed)]
        _checkpoint(store)
        size = path.stat().st_size
        say("SQLite: queries")
        latencies = _rounded(query_times(store))
        say("SQLite: training steps")
        cost = recording_cost(store, bench_tasks, steps)
    slowest = max(latencies, key=latencies.__getitem__)
    return {
        "sqlite_verifications_per_s": rounded(median(rates)),
        "bytes_per_program": rounded(size / rows),
        "million_row_list_ms": latencies[slowest],
        "slowest": slowest,
        "query_ms": latencies,
        "cost": cost,
    }


def _postgres(rows: int, steps: int, say: Say) -> dict[str, Any]:
    bench_tasks = tasks(TASKS)
    try:
        with postgres_server(fsync=True) as server, Store.open(server.url) as store:
            say(f"Postgres: {rows} verifications")
            rates = list(write_rates(store, bench_tasks, rows, seed=0))
            say("Postgres: training steps")
            cost = recording_cost(store, bench_tasks, steps)
    except MissingRequirement as error:
        say(f"Postgres is not measured: {error}")
        return {"postgres_verifications_per_s": None, "cost": None}
    return {"postgres_verifications_per_s": rounded(median(rates)), "cost": cost}


def _described(cost: StepCost) -> dict[str, float | list[float]]:
    """The parts of a cost by name, with four digits."""
    parts = {**asdict(cost), "between": list(map(rounded, cost.between))}
    return {name: part if isinstance(part, list) else rounded(part) for name, part in parts.items()}


def _checkpoint(store: Store) -> None:
    """Checkpoint the write-ahead log into the file, so that its size includes all rows."""
    with store.engine.connect() as connection:
        connection.exec_driver_sql("commit")
        connection.exec_driver_sql("pragma wal_checkpoint(truncate)")


def _rounded(values: dict[str, float]) -> dict[str, float]:
    return {name: rounded(value) for name, value in values.items()}
