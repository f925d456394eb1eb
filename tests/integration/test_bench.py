"""The benchmarks of `agn bench` measure what they say."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from agnostics.cli import call
from agnostics_benchmarks import latency, measure, session, store_steps, traces

pytestmark = pytest.mark.slow


def test_the_sandbox_is_measured_against_the_bare_machine(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(measure, "ROUNDS", 1)
    monkeypatch.setattr(measure, "BATCH_S", 0.2)
    monkeypatch.setattr(latency, "PROGRAMS", 30)
    assert call(["bench", "sandbox", "--language", "lua", "--slots", "1", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    rates = ["bare_per_s", "docker_per_s", "bubblewrap_per_s", "docker_run_per_s"]
    ratios = ["docker_over_bare", "bubblewrap_over_bare", "docker_over_docker_run"]
    assert all(report[key] > 0 for key in [*rates, *ratios])
    assert report["slots"] == 1
    assert report["docker_over_docker_run"] > 10
    assert [row["slots"] for row in report["by_slots"]] == sorted({1, report["cores"], 2 * report["cores"]})
    assert set(report["latency_ms"]) == {"bare", "docker", "bubblewrap"}


def test_a_language_without_right_programs_cannot_be_measured(capsys: pytest.CaptureFixture[str]) -> None:
    assert call(["bench", "sandbox", "--language", "nonesuch"]) == 2
    assert "unknown language" in capsys.readouterr().err


def test_sessions_are_measured_against_a_bash_outside(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, count in {"ROUNDS": 1, "COMMANDS": 20, "STARTS": 3, "OPEN": 5, "STEPS_S": 0.2}.items():
        monkeypatch.setattr(session, name, count)
    assert call(["bench", "session", "--language", "lua", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    modes = {"docker", "bubblewrap"}
    shells = {f"{mode}_shell" for mode in modes}
    assert set(report["over_persistent_bash"]) - {"swe_rex"} == {"persistent_bash"} | modes | shells
    assert all(report["start_ms"][mode]["p50"] > 0 for mode in modes)
    assert all(report["steps_per_s"][mode] > 10 for mode in modes)
    assert set(report["memory_mb_per_session"]) == modes


def test_comparisons_of_answers_are_counted_by_how_they_end(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    answers = ["7", r"\\frac{1}{2}", "x + y", "(1, 2)"]
    path = tmp_path / "problems.jsonl"
    path.write_text("".join(f'{{"problem": "?", "answer": "{answer}"}}\n' for answer in answers))
    assert call(["bench", "math", str(path), "--sandbox", "bubblewrap", "--slots", "1"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["checks"], report["sandbox"]) == (4, "bubblewrap")
    assert report["themselves"]["equal"] == report["themselves_forked"]["equal"] == 4
    assert report["others_forked"]["different"] == 4
    assert all(report[name]["per_s"] > 0 for name in ("themselves", "themselves_forked", "others_forked"))


def test_the_results_database_is_measured_on_both_databases(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(store_steps, "STEP_S", 0.05)
    assert call(["bench", "store", "--rows", "2000", "--steps", "2", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert 300 < report["bytes_per_program"] < 2500
    assert report["sqlite_verifications_per_s"] > 100
    assert report["million_row_list_ms"] == max(report["query_ms"].values()) > 0
    beside = report["step_beside"]
    recording = [cost for cost in (beside["sqlite"], beside["postgres"]) if cost]
    assert all(0 < cost["giving"] < 1 for cost in recording)
    assert report["write_share_of_step"] == max(cost["longer"] for cost in recording)
    assert all(cost["between"][0] <= cost["longer"] <= cost["between"][1] for cost in beside.values() if cost)
    assert beside["counting"]["giving"] == beside["nothing"]["giving"] == 0
    assert (beside["postgres"] is None) == (report["postgres_verifications_per_s"] is None)


def test_the_tracer_of_python_is_measured_on_events_a_second(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(traces, "ROUNDS", 1)
    monkeypatch.setattr(traces, "REPEATS", 5)
    assert call(["bench", "traces", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["events"] > 10_000
    assert report["events_per_s"]["ours"] > 500_000
    assert all(ratio > 20 for ratio in report["ours_over"].values())
