"""Our trainer against TRL's GRPOTrainer: the same model, prompts, lengths and reward code, in turns."""

from __future__ import annotations

import importlib.util
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from agnostics.sandbox.pool import available_cores
from agnostics.types.errors import MissingRequirement

from agnostics_benchmarks.rounds import Round, summary
from agnostics_benchmarks.trainers import MeasuredTrainer, ours, take_turn, trl
from agnostics_benchmarks.training_workload import MAX_OFF_POLICY_STEPS, SIZES, EngineName, TrainingWorkload
from agnostics_benchmarks.watched import Gauge, on_gpus_mb, resident_mb

TRAINERS = (
    MeasuredTrainer("ours", ours),
    MeasuredTrainer("ours_overlapped", ours, MAX_OFF_POLICY_STEPS),
    MeasuredTrainer("trl", trl),
)
_GAUGES = {"cpu": resident_mb, "cuda": on_gpus_mb}


def compare_training(
    language: str,
    model: Path,
    engine: EngineName | None,
    steps: int | None,
    repeats: int,
    sets: Sequence[str],
    say: Callable[[str], None],
) -> dict[str, Any]:
    """The report of `agn bench train`: medians over `repeats` rounds, in each of which every trainer has a turn.

    `sets` change settings of all of them, as in `agn run --set`. Completions end with the model's stop token, and in
    `fixed` at the maximum length. Rates are completions per second; ratios are within a round. Raises
    MissingRequirement where TRL or what our trainer needs is not installed.
    """
    device = _device()
    size = SIZES[device] if steps is None else replace(SIZES[device], steps=steps)
    natural = TrainingWorkload(language, model, engine or _engine(device), size, tuple(sets))
    rounds: dict[str, list[Round]] = {"natural": [], "fixed": []}
    with tempfile.TemporaryDirectory(prefix="agnostics-bench-") as folder:
        jobs = {"natural": natural, "fixed": natural.endless(Path(folder) / "model")}
        for repeat in range(repeats):
            for lengths, job in jobs.items():
                say(f"round {repeat + 1} of {repeats}, {lengths} lengths")
                rounds[lengths].append(_round(job, repeat, _GAUGES[device], say))
    return {
        **natural.as_dict(),
        "device": device,
        "cores": available_cores(),
        "repeats": repeats,
        **summary(rounds["natural"]),
        "fixed": summary(rounds["fixed"]),
    }


def _round(job: TrainingWorkload, repeat: int, gauge: Gauge, say: Callable[[str], None]) -> Round:
    """A turn of each trainer, in an order that changes from round to round."""
    turns = {}
    for trainer in _order(repeat):
        turn = take_turn(trainer, job.config(seed=repeat), job.measured, gauge)
        say(f"  {trainer.name}: {turn.samples_per_s:.1f} samples/s, {turn.peak_mb:.0f} MiB, reward {turn.reward:.2f}")
        turns[trainer.name] = turn
    return {trainer.name: turns[trainer.name] for trainer in TRAINERS}


def _order(repeat: int) -> Iterator[MeasuredTrainer]:
    first = repeat % len(TRAINERS)
    yield from (*TRAINERS[first:], *TRAINERS[:first])


def _engine(device: str) -> EngineName:
    """vLLM where it is worth its memory: on a GPU."""
    return "vllm" if device == "cuda" and importlib.util.find_spec("vllm") else "transformers"


def _device() -> str:
    for module, package in (("torch", "'agnostics[train]'"), ("trl", "trl")):
        if importlib.util.find_spec(module) is None:
            raise MissingRequirement(f"{module} is not installed; run: pip install {package}")
    import torch

    return "cuda" if torch.cuda.is_available() else "cpu"
