"""Checkpoints: a folder in Hugging Face's format, with the state that a resumed run needs in `trainer/`."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

from agnostics.train.policy import Policy
from agnostics.train.state import TrainerState
from agnostics.types.errors import AgnosticsError, UsageError
from agnostics.util.distributed import is_lost_rank_error
from agnostics.util.files import sha256
from agnostics.util.text import first_line

_NAME = re.compile(r"step-(\d+)")
_MANIFEST = "trainer/manifest.json"
BEST = "best"
"""The link to the best checkpoint."""


def save(
    run_folder: Path, policy: Policy, tokenizer: Any, state: TrainerState, keep: int = 1, command: str = "run"
) -> Path:
    """Write the checkpoint of `state.step`, then remove all but the last `keep` and the best; returns its folder.

    It is written to a temporary folder and renamed, so that a crash or a full disk leaves the last one intact. Every
    rank writes its part of the optimizer's state, rank 0 the rest. Raises AgnosticsError, with the `command` of `agn`
    that resumes the run, if it cannot be written.
    """
    home, group = run_folder / "checkpoints", policy.process_group
    folder, partial = home / f"step-{state.step:06}", home / f".step-{state.step:06}.part"
    older = [path for path in _all(run_folder) if path != folder]
    try:
        group.run_on_main(lambda: _make_empty(partial))
        _write(partial, policy, tokenizer, state)
        group.run_on_main(lambda: _publish(partial, folder, group.world_size))
    except Exception as error:  # torch, safetensors and DeepSpeed each have an error of their own for a full disk
        if group.is_main:
            shutil.rmtree(partial, ignore_errors=True)
        if is_lost_rank_error(error):
            raise
        kept = f"the last checkpoint, {older[-1]}, is intact" if older else "there is no earlier checkpoint"
        raise AgnosticsError(
            f"the checkpoint {folder} could not be written ({first_line(error)}); {kept}; "
            f"make room, then: agn {command} --resume {run_folder.name}"
        ) from error
    if group.is_main:
        link_best(run_folder, state)
        _remove_old(run_folder, keep)
    return folder


def link_best(run_folder: Path, state: TrainerState) -> None:
    """Point the link `checkpoints/best` to the best checkpoint, if that exists."""
    home = run_folder / "checkpoints"
    folder = home / f"step-{state.best_step or 0:06}"
    if state.best_step is not None and folder.is_dir():
        link = home / f".{BEST}"
        link.unlink(missing_ok=True)
        link.symlink_to(folder.name)
        link.replace(home / BEST)


def exists(run_folder: Path, step: int) -> bool:
    """Whether there is a checkpoint of `step`."""
    return any(path.name == f"step-{step:06}" for path in _all(run_folder))


def last(run_folder: Path, world_size: int = 1, command: str = "run") -> Path | None:
    """The folder of the last checkpoint, unmodified since it was saved; None if there is none yet.

    `command` of `agn` resumes the run.
    Raises UsageError for one of another run, a modified one, or one that another number of ranks wrote.
    """
    folders = _all(run_folder)
    if not folders:
        return None
    _check(folders[-1], run_folder, world_size, command)
    return folders[-1]


def restore(folder: Path, policy: Policy) -> TrainerState:
    """Load weights, optimizer and random state from the checkpoint `folder`; returns the run's state then."""
    policy.restore(folder / "trainer")
    torch.set_rng_state(torch.load(folder / "trainer" / "random.pt", weights_only=True))
    return TrainerState(**json.loads((folder / "trainer" / "state.json").read_text(encoding="utf-8")))


def _make_empty(partial: Path) -> None:
    shutil.rmtree(partial, ignore_errors=True)
    (partial / "trainer").mkdir(parents=True)


def _write(folder: Path, policy: Policy, tokenizer: Any, state: TrainerState) -> None:
    trainer = folder / "trainer"
    policy.save_model(folder)
    if policy.process_group.is_main:
        tokenizer.save_pretrained(folder)
        torch.save(torch.get_rng_state(), trainer / "random.pt")
        (trainer / "state.json").write_text(json.dumps(asdict(state)), encoding="utf-8")
    policy.save_state(trainer)


def _publish(partial: Path, folder: Path, world_size: int) -> None:
    """Give a complete checkpoint its name."""
    _write_manifest(partial, folder.parents[1].name, world_size)
    shutil.rmtree(folder, ignore_errors=True)
    partial.rename(folder)


def _write_manifest(folder: Path, run: str, world_size: int) -> None:
    """Write the manifest: the run, the number of ranks, and the checksum of each file."""
    digests = {str(path.relative_to(folder)): sha256(path) for path in folder.rglob("*") if path.is_file()}
    (folder / _MANIFEST).write_text(json.dumps({"run": run, "ranks": world_size, "files": digests}), encoding="utf-8")


def _remove_old(run_folder: Path, keep: int) -> None:
    best = (run_folder / "checkpoints" / BEST).resolve()
    for path in _all(run_folder)[:-keep]:
        if path != best:
            shutil.rmtree(path, ignore_errors=True)


def _check(folder: Path, run_folder: Path, world_size: int, command: str) -> None:
    way_out = f"remove {folder} to resume from the checkpoint before it, or else from the beginning"
    try:
        manifest = json.loads((folder / _MANIFEST).read_text(encoding="utf-8"))
        run, writers, files = manifest["run"], manifest["ranks"], dict(manifest["files"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UsageError(f"{folder} is no checkpoint of a run: its {_MANIFEST} cannot be read; {way_out}") from error
    if run != run_folder.name:
        raise UsageError(f"{folder} is a checkpoint of the run {run}; {way_out}")
    if writers != world_size:
        raise UsageError(
            f"{folder} holds the optimizer in {writers} parts, one for each rank that wrote it, and cannot be restored "
            f"by {world_size}; resume with: torchrun --nproc-per-node {writers} -m agnostics {command} --resume {run}"
        )
    for name, digest in files.items():
        path = folder / name
        if not path.is_file() or sha256(path) != digest:
            raise UsageError(f"{path}: checksum mismatch: modified since it was saved; {way_out}")


def _all(run_folder: Path) -> list[Path]:
    return sorted(path for path in run_folder.glob("checkpoints/step-*") if _NAME.fullmatch(path.name))
