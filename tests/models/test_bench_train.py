"""`agn bench train` measures what it says."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import preloaded
import pytest
from agnostics.cli import call
from agnostics_benchmarks import train, training_workload, watched

pytestmark = pytest.mark.slow


@pytest.fixture
def few_imports(monkeypatch: pytest.MonkeyPatch) -> None:
    """All trainers but the first of TRL, which must do without vLLM and DeepSpeed, begin with what they import."""
    started = list[Sequence[str]]()

    def start(command: Sequence[str], **streams: Any) -> Any:
        *program, _ = command
        is_first = program not in started
        started.append(program)
        fresh = is_first and "agnostics_benchmarks.trl_contender" in program
        return (subprocess.Popen if fresh else preloaded.Popen)(command, **streams)

    monkeypatch.setattr(watched, "subprocess", SimpleNamespace(**{**vars(subprocess), "Popen": start}))


@pytest.mark.usefixtures("few_imports")
def test_our_trainer_is_measured_against_that_of_trl(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("RANK", "LOCAL_RANK", "WORLD_SIZE"):  # which DeepSpeed wants, and TRL takes for those of a launcher
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(training_workload, "WARM_UP", 1)
    monkeypatch.setattr(train, "SIZES", {"cpu": training_workload.Size(2, 4, 32, 2, "float32")})
    assert call(["bench", "train", "--repeats", "1", "--set", "train.lora_rank=4", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    trainers = ["ours", "ours_overlapped", "trl"]
    ratios = ["ours_over_trl", "overlapped_over_trl", "peak_memory_over_trl"]
    for part in (report, report["fixed"]):
        assert all(part[key] > 0 for key in [*(f"{name}_samples_per_s" for name in trainers), *ratios])
        assert all(list(part[key]) == trainers for key in ("stages", "tokens_mean", "peak_memory_mb"))
        assert all(0 <= part["reward"][name]["mean"] <= 1 for name in trainers)
        for seconds in part["stages"].values():
            assert 0 < seconds["update_s"] + seconds["generation_s"] - seconds["at_once_s"] < seconds["step_s"]
        assert part["stages"]["ours"]["at_once_s"] == 0
        assert part["stages"]["ours_overlapped"]["at_once_s"] > 0
    assert set(report["fixed"]["tokens_mean"].values()) == {32}
    assert report["tokens_mean"]["trl"] < 32
    assert (report["repeats"], report["steps"], report["sets"]) == (1, 2, ["train.lora_rank=4"])
