"""`agn bench sandbox` measures what it says."""

from __future__ import annotations

import json

import pytest
from agnostics.bench import latency, measure
from agnostics.cli import run

pytestmark = pytest.mark.slow


def test_the_sandbox_is_measured_against_the_bare_machine(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(measure, "ROUNDS", 2)
    monkeypatch.setattr(measure, "BATCH_S", 0.2)
    monkeypatch.setattr(latency, "PROGRAMS", 30)
    assert run(["bench", "sandbox", "--language", "lua", "--slots", "1", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    rates = ["bare_per_s", "docker_per_s", "bubblewrap_per_s", "docker_run_per_s"]
    ratios = ["docker_over_bare", "bubblewrap_over_bare", "docker_over_docker_run"]
    assert all(report[key] > 0 for key in [*rates, *ratios])
    assert report["slots"] == 1
    assert report["docker_over_docker_run"] > 10
    assert [row["slots"] for row in report["by_slots"]] == sorted({1, report["cores"], 2 * report["cores"]})
    assert set(report["latency_ms"]) == {"bare", "docker", "bubblewrap"}


def test_a_language_without_right_programs_cannot_be_measured(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["bench", "sandbox", "--language", "nonesuch"]) == 2
    assert "unknown language" in capsys.readouterr().err
