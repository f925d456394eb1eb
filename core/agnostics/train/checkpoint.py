"""Checkpoints: a Hugging Face folder that anything loads, with what a run needs to go on in `trainer/`."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

from agnostics.errors import AgnosticsError, UsageError
from agnostics.train.policy import Policy

_NAME = re.compile(r"step-(\d+)")


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a run has come. The order of tasks and all seeds follow from the step's number."""

    step: int = 0
    completions: int = 0
    seconds: float = 0.0
    before: dict[str, Any] | None = None
    """The fields of the score before training, once it is measured."""


def save(run_folder: Path, policy: Policy, tokenizer: Any, progress: Progress) -> Path:
    """Write the checkpoint of `progress.step`, then remove older ones; returns its folder.

    It is written aside and renamed, so that a crash or a full disk leaves the last one intact. Raises AgnosticsError
    where it cannot be written.
    """
    home = run_folder / "checkpoints"
    folder, aside = home / f"step-{progress.step:06}", home / f".step-{progress.step:06}.part"
    older = [path for path in _all(run_folder) if path != folder]
    shutil.rmtree(aside, ignore_errors=True)
    try:
        _write(aside, policy, tokenizer, progress)
        shutil.rmtree(folder, ignore_errors=True)
        aside.rename(folder)
    except Exception as error:  # torch, safetensors and DeepSpeed each have an error of their own for a full disk
        shutil.rmtree(aside, ignore_errors=True)
        kept = f"the last checkpoint, {older[-1]}, is intact" if older else "there is no earlier checkpoint"
        raise AgnosticsError(
            f"the checkpoint {folder} could not be written ({_line(error)}); {kept}; "
            f"make room, then: agn run --resume {run_folder.name}"
        ) from error
    for path in older:
        shutil.rmtree(path, ignore_errors=True)
    return folder


def last(run_folder: Path) -> Path:
    """The folder of the last checkpoint. Raises UsageError where there is none."""
    folders = _all(run_folder)
    if not folders:
        raise UsageError(
            f"run {run_folder.name} has no checkpoint to go on from; start it anew: agn run {run_folder}/config.toml"
        )
    return folders[-1]


def restore(folder: Path, policy: Policy) -> Progress:
    """Take up weights, optimizer and random state from the checkpoint `folder`; returns the progress then."""
    policy.restore(folder / "trainer")
    torch.set_rng_state(torch.load(folder / "trainer" / "random.pt", weights_only=True))
    return Progress(**json.loads((folder / "trainer" / "progress.json").read_text(encoding="utf-8")))


def _write(folder: Path, policy: Policy, tokenizer: Any, progress: Progress) -> None:
    trainer = folder / "trainer"
    trainer.mkdir(parents=True)
    policy.save_model(folder)
    tokenizer.save_pretrained(folder)
    policy.save_state(trainer)
    torch.save(torch.get_rng_state(), trainer / "random.pt")
    (trainer / "progress.json").write_text(json.dumps(asdict(progress)), encoding="utf-8")


def _all(run_folder: Path) -> list[Path]:
    return sorted(path for path in run_folder.glob("checkpoints/step-*") if _NAME.fullmatch(path.name))


def _line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
