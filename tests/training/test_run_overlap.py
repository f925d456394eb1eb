"""Sampling goes on during updates where the configuration allows it, no further behind than it allows."""

from __future__ import annotations

import json
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from agnostics.train.timeline import overlap, total, union

pytestmark = pytest.mark.slow

AGN = [sys.executable, "-c", "from agnostics.cli import main; main()"]
SETTINGS = [
    *("rollout.prompts=4", "rollout.group=8", "rollout.max_new_tokens=96", "evaluation.tasks=0"),
    *("rollout.temperature=1.0", "train.learning_rate=1e-4", "train.warmup_epochs=0", "train.max_staleness=2"),
]
STEPS = 6
SHARES = ("idle_generation", "idle_verification", "idle_training", "hidden_verification")


def _command(home: Path, *words: str, settings: list[str]) -> list[str]:
    sets = [part for setting in [*settings, f"output={home / 'runs'}"] for part in ("--set", setting)]
    store = f"sqlite:///{home / 'agnostics.db'}"
    return [*AGN, "run", *words, "--sandbox", "bubblewrap", "--store", store, "--json", *sets]


def _query(home: Path, statement: str) -> list[Any]:
    with sqlite3.connect(home / "agnostics.db") as database:
        return database.execute(statement).fetchall()


def _stretches(events: list[dict[str, Any]], track: str) -> list[tuple[float, float]]:
    return union((event["ts"], event["ts"] + event["dur"]) for event in events if event.get("cat") == track)


def test_a_run_samples_while_it_learns_and_resumes_after_an_interrupt(starter_model: Path, tmp_path: Path) -> None:
    command = _command(tmp_path, "--model", str(starter_model), "--steps", str(STEPS), settings=SETTINGS)
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    said = []
    for line in process.stderr:
        said.append(line)
        if line.startswith("step 4/"):
            process.send_signal(signal.SIGINT)
    assert process.wait(timeout=120) == 130, said
    ((run,),) = _query(tmp_path, "select id from run")
    answer = subprocess.run(
        _command(tmp_path, "--resume", run, settings=[]), capture_output=True, text=True, timeout=240
    )
    assert answer.returncode == 0, answer.stderr
    behind = _query(tmp_path, "select step - 1 - policy_version, count(*) from completion group by 1")
    assert {distance for distance, _ in behind} <= {0, 1, 2}
    assert sum(count for distance, count in behind if distance) > 0
    assert sum(count for _, count in behind) == STEPS * 32
    gaps = [value for (value,) in _query(tmp_path, "select value from step_metric where name = 'gap'")]
    assert gaps  # a batch that was sampled wholly by earlier versions has none
    assert max(gaps) < 1e-4
    for name in SHARES:
        values = [value for (value,) in _query(tmp_path, f"select value from step_metric where name = '{name}'")]
        assert len(values) == STEPS
        assert all(0 <= value <= 1 for value in values)
    events = json.loads((tmp_path / "runs" / run / "trace.json").read_text())
    learning = _stretches(events, "training")
    assert total(overlap(learning, _stretches(events, "generation"))) > 0
    verified = [event for event in events if event.get("cat") == "verification" and event["ph"] == "b"]
    assert len(verified) >= STEPS * 32
