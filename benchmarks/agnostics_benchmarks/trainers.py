"""Trainers under comparison: ours on-policy, ours sampling ahead, and TRL, each in a process of its own."""

from __future__ import annotations

import sqlite3
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from agnostics.train.config import RunConfig, to_toml
from agnostics.types.errors import AgnosticsError

from agnostics_benchmarks.stages import read_spans, stages, steps_between
from agnostics_benchmarks.watched import Gauge, run_watched

TIMEOUT_S = 3600.0
REWARDED = 3
"""The last measured steps, whose rewards are compared."""

Command = Callable[[Path], list[str]]
"""The command that trains as the configuration in a file says."""


@dataclass(frozen=True)
class MeasuredTrainer:
    """A trainer: its command, and how many updates its policy may be ahead of the rollouts that it trains on."""

    name: str
    command: Command
    max_off_policy_steps: int = 0


@dataclass(frozen=True)
class Measured:
    """The steps that count: those after `first`, up to `last`."""

    first: int
    last: int

    @property
    def count(self) -> int:
        """The number of measured steps."""
        return self.last - self.first


@dataclass(frozen=True)
class BenchTurn:
    """Measurements of a trainer in the measured steps of one turn.

    `stages` are in seconds a step (see `stages.stages`), `peak_mb` is over all of its life, in MiB.
    """

    samples_per_s: float
    stages: dict[str, float]
    tokens_mean: float
    reward: float
    peak_mb: float


def ours(config: Path) -> list[str]:
    """`agn run`."""
    return [sys.executable, "-m", "agnostics", "run", str(config), "--json"]


def trl(config: Path) -> list[str]:
    """TRL's GRPOTrainer."""
    return [sys.executable, "-m", "agnostics_benchmarks.trl_contender", str(config)]


def take_turn(trainer: MeasuredTrainer, config: RunConfig, measured: Measured, gauge: Gauge) -> BenchTurn:
    """Let `trainer` train as `config` says, in a folder that is gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="agnostics-bench-") as name:
        folder = Path(name)
        own = config.train.model_copy(update={"max_off_policy_steps": trainer.max_off_policy_steps})
        places = {"store": f"sqlite:///{folder / 'store.db'}", "output": str(folder / "runs"), "train": own}
        path = folder / "config.toml"
        path.write_text(to_toml(config.model_copy(update=places)), encoding="utf-8")
        peak_mb = run_watched(trainer.command(path), folder / "log.txt", gauge, TIMEOUT_S)
        (trace,) = folder.glob("runs/*/trace.json")
        return read_turn(trace, folder / "store.db", measured, peak_mb)


def read_turn(trace: Path, store: Path, measured: Measured, peak_mb: float) -> BenchTurn:
    """Measurements of a turn, read from the trainer's trace and store."""
    spans, metrics = read_spans(trace), _step_metrics(store)
    window = steps_between(spans, measured.first, measured.last)
    steps = [metrics[step] for step in range(measured.first + 1, measured.last + 1)]
    samples = sum(step["completions"] for step in steps)
    return BenchTurn(
        samples_per_s=samples / (window[1] - window[0]),
        stages=stages(spans, window, measured.count),
        tokens_mean=sum(step["completions"] * step["tokens_mean"] for step in steps) / samples,
        reward=fmean(step["reward_mean"] for step in steps[-REWARDED:]),
        peak_mb=peak_mb,
    )


def _step_metrics(store: Path) -> Mapping[int, Mapping[str, float]]:
    """The metrics of each step, by name."""
    steps = defaultdict[int, dict[str, float]](dict)
    with closing(sqlite3.connect(store)) as database:
        for step, name, value in database.execute("select step, name, value from step_metric"):
            steps[step][name] = value
    if not steps:
        raise AgnosticsError(f"{store} holds no step: its times do not count")
    return steps
