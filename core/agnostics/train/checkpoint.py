"""Checkpoints: a Hugging Face folder that anything loads, with what a run needs to go on in `trainer/`."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

from agnostics.train.policy import Policy
from agnostics.types.errors import AgnosticsError, UsageError
from agnostics.util.distributed import another_is_lost
from agnostics.util.text import first_line

_NAME = re.compile(r"step-(\d+)")
_MANIFEST = "trainer/manifest.json"
BEST = "best"
"""The link to the best checkpoint."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a run has come. The order of tasks and all seeds follow from the step's number."""

    step: int = 0
    completions: int = 0
    seconds: float = 0.0
    before: dict[str, Any] | None = None
    """The fields of the score before training, once it is measured."""
    measured: int = 0
    """The last step after which held-out tasks were tried, during training."""
    best_step: int | None = None
    """The step after which most of them were solved: `best_pass_at_1`."""
    best_pass_at_1: float = 0.0


def save(run_folder: Path, policy: Policy, tokenizer: Any, progress: Progress, keep: int = 1) -> Path:
    """Write the checkpoint of `progress.step`, then remove all but the last `keep` and the best; returns its folder.

    It is written aside and renamed, so that a crash or a full disk leaves the last one intact. Every rank writes its
    part of the optimizer's state, the first all else. Raises AgnosticsError where it cannot be written.
    """
    home, ranks = run_folder / "checkpoints", policy.ranks
    folder, aside = home / f"step-{progress.step:06}", home / f".step-{progress.step:06}.part"
    older = [path for path in _all(run_folder) if path != folder]
    try:
        ranks.agreed(lambda: _make_room(aside))
        _write(aside, policy, tokenizer, progress)
        ranks.agreed(lambda: _publish(aside, folder, ranks.size))
    except Exception as error:  # torch, safetensors and DeepSpeed each have an error of their own for a full disk
        if ranks.first:
            shutil.rmtree(aside, ignore_errors=True)
        if another_is_lost(error):
            raise
        kept = f"the last checkpoint, {older[-1]}, is intact" if older else "there is no earlier checkpoint"
        raise AgnosticsError(
            f"the checkpoint {folder} could not be written ({first_line(error)}); {kept}; "
            f"make room, then: agn run --resume {run_folder.name}"
        ) from error
    if ranks.first:
        point_to_best(run_folder, progress)
        _remove_old(run_folder, keep)
    return folder


def point_to_best(run_folder: Path, progress: Progress) -> None:
    """Let the link `checkpoints/best` lead to the best checkpoint, if that is here."""
    home = run_folder / "checkpoints"
    folder = home / f"step-{progress.best_step or 0:06}"
    if progress.best_step is not None and folder.is_dir():
        link = home / f".{BEST}"
        link.unlink(missing_ok=True)
        link.symlink_to(folder.name)
        link.replace(home / BEST)


def is_there(run_folder: Path, step: int) -> bool:
    """Whether there is a checkpoint of `step`."""
    return any(path.name == f"step-{step:06}" for path in _all(run_folder))


def last(run_folder: Path, ranks: int = 1) -> Path | None:
    """The folder of the last checkpoint, whole as it was written; None where there is none as yet.

    Raises UsageError for one that is another run's, that has changed since, or that other than `ranks` ranks wrote.
    """
    folders = _all(run_folder)
    if not folders:
        return None
    _check(folders[-1], run_folder, ranks)
    return folders[-1]


def restore(folder: Path, policy: Policy) -> Progress:
    """Take up weights, optimizer and random state from the checkpoint `folder`; returns the progress then."""
    policy.restore(folder / "trainer")
    torch.set_rng_state(torch.load(folder / "trainer" / "random.pt", weights_only=True))
    return Progress(**json.loads((folder / "trainer" / "progress.json").read_text(encoding="utf-8")))


def _make_room(aside: Path) -> None:
    shutil.rmtree(aside, ignore_errors=True)
    (aside / "trainer").mkdir(parents=True)


def _write(folder: Path, policy: Policy, tokenizer: Any, progress: Progress) -> None:
    trainer = folder / "trainer"
    policy.save_model(folder)
    if policy.ranks.first:
        tokenizer.save_pretrained(folder)
        torch.save(torch.get_rng_state(), trainer / "random.pt")
        (trainer / "progress.json").write_text(json.dumps(asdict(progress)), encoding="utf-8")
    policy.save_state(trainer)


def _publish(aside: Path, folder: Path, ranks: int) -> None:
    """Give a checkpoint that is whole its name."""
    _seal(aside, folder.parents[1].name, ranks)
    shutil.rmtree(folder, ignore_errors=True)
    aside.rename(folder)


def _seal(folder: Path, run: str, ranks: int) -> None:
    """Write down whose checkpoint this is, how many ranks wrote it and what its files hold."""
    digests = {str(path.relative_to(folder)): _digest(path) for path in folder.rglob("*") if path.is_file()}
    (folder / _MANIFEST).write_text(json.dumps({"run": run, "ranks": ranks, "files": digests}), encoding="utf-8")


def _remove_old(run_folder: Path, keep: int) -> None:
    best = (run_folder / "checkpoints" / BEST).resolve()
    for path in _all(run_folder)[:-keep]:
        if path != best:
            shutil.rmtree(path, ignore_errors=True)


def _check(folder: Path, run_folder: Path, ranks: int) -> None:
    way_out = f"remove {folder} to go on from the checkpoint before it, or else from the beginning"
    try:
        manifest = json.loads((folder / _MANIFEST).read_text(encoding="utf-8"))
        run, wrote, files = manifest["run"], manifest["ranks"], dict(manifest["files"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UsageError(f"{folder} is no checkpoint of a run: its {_MANIFEST} cannot be read; {way_out}") from error
    if run != run_folder.name:
        raise UsageError(f"{folder} is a checkpoint of the run {run}; {way_out}")
    if wrote != ranks:
        raise UsageError(
            f"{folder} holds the optimizer in {wrote} parts, one for each rank that wrote it, and cannot be taken up "
            f"by {ranks}; go on with: torchrun --nproc-per-node {wrote} -m agnostics run --resume {run}"
        )
    for name, digest in files.items():
        path = folder / name
        if not path.is_file() or _digest(path) != digest:
            raise UsageError(f"{path} is not what was written there; {way_out}")


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _all(run_folder: Path) -> list[Path]:
    return sorted(path for path in run_folder.glob("checkpoints/step-*") if _NAME.fullmatch(path.name))
