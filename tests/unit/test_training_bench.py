"""The arithmetic of `agn bench train`, on numbers written down by hand."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from agnostics.profiling.chrome_trace import TraceFile
from agnostics.profiling.spans import Span
from agnostics.types.errors import AgnosticsError
from agnostics_benchmarks.rounds import Round, summary
from agnostics_benchmarks.stages import read_spans, stages, steps_between
from agnostics_benchmarks.trainers import BenchTurn
from agnostics_benchmarks.training_workload import MAX_OFF_POLICY_STEPS, SIZES, WARM_UP, TrainingWorkload
from agnostics_benchmarks.watched import resident_mb, run_watched

SPANS = [
    Span("training", "update 1", 0.0, 1.0),
    Span("training", "weights 1", 1.0, 1.5),
    Span("generation", "generate", 1.5, 4.0),
    Span("generation", "generate", 4.0, 6.0),
    Span("verification", "a", 3.0, 6.5),
    Span("verification", "b", 5.0, 7.0),
    Span("training", "update 2", 7.5, 10.0),
    Span("training", "weights 2", 10.0, 10.5),
    Span("generation", "generate", 9.0, 14.0),
    Span("training", "update 3", 17.0, 21.0),
]


def _turn(rate: float, mb: float, reward: float) -> BenchTurn:
    return BenchTurn(rate, {"step_s": 64 / rate, "update_s": 1.0}, 80.0, reward, mb)


def _round(ours: float, overlapped: float, trl: float) -> Round:
    return {
        "ours": _turn(ours, 900, 0.5),
        "ours_overlapped": _turn(overlapped, 1000, 0.4),
        "trl": _turn(trl, 800, 0.45),
    }


def test_a_trace_is_read_as_it_was_written(tmp_path: Path) -> None:
    with TraceFile(tmp_path / "trace.json") as trace:
        trace.add(SPANS)
    read = read_spans(tmp_path / "trace.json")
    zero = read[0].begin_s
    told = {(span.track, span.name, round(span.begin_s - zero, 3), round((span.end_s or 0) - zero, 3)) for span in read}
    assert told == {(span.track, span.name, span.begin_s, span.end_s) for span in SPANS}


def test_the_stages_of_a_step_add_up_to_it() -> None:
    window = steps_between(SPANS, 1, 3)
    assert window == (1.0, 21.0)
    seconds = stages(SPANS, window, 2)
    assert seconds == {
        "step_s": 10.0,
        "generation_s": 4.75,
        "verification_s": 0.5,  # from 6 to 7; before that completions were sampled
        "update_s": 3.25,
        "transfer_s": 0.5,
        "at_once_s": 0.75,  # from 9 to 10.5
        "rest_s": 1.75,  # from 7 to 7.5 and from 14 to 17
    }
    parts = seconds["generation_s"] + seconds["verification_s"] + seconds["update_s"] + seconds["transfer_s"]
    assert parts - seconds["at_once_s"] + seconds["rest_s"] == seconds["step_s"]


def test_a_trace_without_the_steps_that_count_is_refused() -> None:
    with pytest.raises(AgnosticsError, match="without the updates 1 and 9"):
        steps_between(SPANS, 1, 9)


def test_ratios_are_within_a_round_and_the_median_has_its_spread() -> None:
    report = summary([_round(10, 20, 10), _round(30, 30, 20), _round(8, 20, 5)])
    assert report["ours_samples_per_s"] == 10
    assert report["trl_samples_per_s"] == 10
    assert report["ours_over_trl"] == 1.5
    assert report["overlapped_over_trl"] == 2.0
    assert report["spread"]["overlapped_over_trl"] == [1.5, 4.0]
    assert report["peak_memory_over_trl"] == 1.25  # the larger of our two
    assert report["stages"]["trl"] == {"step_s": 6.4, "update_s": 1.0}
    assert report["reward"]["ours_overlapped_minus_trl"] == {"mean": -0.05, "min": -0.05, "max": -0.05}


def test_a_job_without_an_end_has_a_model_that_names_no_stop_token(tmp_path: Path) -> None:
    model = tmp_path / "model"
    model.mkdir()
    (model / "config.json").write_text('{"eos_token_id": 1, "vocab_size": 8}')
    (model / "tokenizer_config.json").write_text('{"eos_token": "<|end|>"}')
    job = TrainingWorkload("lua", model, "vllm", SIZES["cpu"])
    endless = job.endless(tmp_path / "endless")
    assert json.loads((endless.model / "config.json").read_text()) == {"eos_token_id": None, "vocab_size": 8}
    assert json.loads((endless.model / "tokenizer_config.json").read_text()) == {"eos_token": None}
    assert json.loads((model / "config.json").read_text())["eos_token_id"] == 1
    assert job.config(3).steps == WARM_UP + SIZES["cpu"].steps + MAX_OFF_POLICY_STEPS


def test_the_memory_of_a_command_is_watched_until_it_ends(tmp_path: Path) -> None:
    program = "import time; held = bytearray(64 << 20); held = None; time.sleep(0.6)"
    assert 64 < run_watched([sys.executable, "-c", program], tmp_path / "log", resident_mb, 30) < 128


@pytest.mark.parametrize(
    ("program", "limit_s", "message"),
    [("1 / 0", 30, "ZeroDivisionError"), ("import time; time.sleep(60)", 0, "not ended")],
)
def test_a_command_that_fails_or_takes_too_long_is_an_error(
    program: str, limit_s: float, message: str, tmp_path: Path
) -> None:
    with pytest.raises(AgnosticsError, match=message):
        run_watched([sys.executable, "-c", program], tmp_path / "log", resident_mb, limit_s)
