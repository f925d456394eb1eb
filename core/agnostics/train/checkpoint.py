"""Checkpoints: a folder in Hugging Face's format, with the state that a resumed run needs in `trainer/`."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Mapping
from pathlib import Path

import torch

from agnostics.train.config import resume_argument
from agnostics.train.policy import Policy
from agnostics.train.state import TrainerState
from agnostics.types.errors import UsageError
from agnostics.util.files import sha256

_NAME = re.compile(r"step-(\d+)")
_MANIFEST = "trainer/manifest.json"
_REPLACED = ".replaced"
BEST = "best"
"""The link to the best checkpoint."""


def folder_of(run_folder: Path, step: int) -> Path:
    """The folder of the checkpoint of `step`, which appears when it is complete."""
    return run_folder / "checkpoints" / f"step-{step:06}"


def all_of(run_folder: Path) -> list[Path]:
    """The folders of all checkpoints, in the order of their steps."""
    return sorted(path for path in run_folder.glob("checkpoints/step-*") if _NAME.fullmatch(path.name))


def link_best(run_folder: Path, state: TrainerState) -> None:
    """Point the link `checkpoints/best` to the best checkpoint, if that exists."""
    home, folder = run_folder / "checkpoints", folder_of(run_folder, state.best_step or 0)
    if state.best_step is not None and folder.is_dir():
        link = home / f".{BEST}"
        link.unlink(missing_ok=True)
        link.symlink_to(folder.name)
        link.replace(home / BEST)


def exists(run_folder: Path, step: int) -> bool:
    """Whether there is a checkpoint of `step`."""
    return folder_of(run_folder, step).is_dir()


def step_of(folder: Path) -> int:
    """The step of the checkpoint in `folder`."""
    match = _NAME.fullmatch(folder.name)
    assert match
    return int(match[1])


def last(run_folder: Path, world_size: int = 1, command: str = "run") -> Path | None:
    """The folder of the last checkpoint, unmodified since it was saved; None if there is none yet.

    `command` of `agn` resumes the run.
    Raises UsageError for one of another run, a modified one, or one that another number of ranks wrote.
    """
    _put_back(run_folder)
    folders = all_of(run_folder)
    if not folders:
        return None
    _check(folders[-1], run_folder, world_size, command)
    return folders[-1]


def restore(folder: Path, policy: Policy) -> TrainerState:
    """Load weights, optimizer and random state from the checkpoint `folder`; returns the run's state then."""
    policy.restore(folder / "trainer")
    torch.set_rng_state(torch.load(folder / "trainer" / "random.pt", weights_only=True))
    return TrainerState(**json.loads((folder / "trainer" / "state.json").read_text(encoding="utf-8")))


def make_empty(partial: Path) -> None:
    """Make the folder in which a checkpoint is written, and remove what killed runs have left of others."""
    for left in partial.parent.glob(".step-*.part"):
        shutil.rmtree(left, ignore_errors=True)
    (partial / "trainer").mkdir(parents=True)


def publish(partial: Path, folder: Path, ranks: int, digests: Mapping[str, str]) -> None:
    """Give a complete checkpoint its manifest, then its name. `digests` are those of its files.

    Another one of the same step has its place until then; `last` puts it back if there is a kill in between.
    """
    manifest = {"run": folder.parents[1].name, "ranks": ranks, "files": digests}
    (partial / _MANIFEST).write_text(json.dumps(manifest), encoding="utf-8")
    replaced = folder.with_name(f".{folder.name}{_REPLACED}")
    if folder.exists():
        folder.rename(replaced)
    partial.rename(folder)
    shutil.rmtree(replaced, ignore_errors=True)


def remove_old(run_folder: Path, keep: int) -> None:
    """Remove all checkpoints but the last `keep` and the best."""
    best = (run_folder / "checkpoints" / BEST).resolve()
    for path in all_of(run_folder)[:-keep]:
        if path != best:
            shutil.rmtree(path, ignore_errors=True)


def _put_back(run_folder: Path) -> None:
    """Give a checkpoint its name again that was to be replaced when the run was killed."""
    for replaced in run_folder.glob(f"checkpoints/.step-*{_REPLACED}"):
        folder = replaced.with_name(replaced.name.removeprefix(".").removesuffix(_REPLACED))
        if folder.exists():
            shutil.rmtree(replaced, ignore_errors=True)
        else:
            replaced.rename(folder)


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
            f"by {world_size}; resume with: torchrun --nproc-per-node {writers} -m agnostics {command} "
            f"--resume {resume_argument(run_folder)}"
        )
    for name, digest in files.items():
        path = folder / name
        if not path.is_file() or sha256(path) != digest:
            raise UsageError(f"{path}: checksum mismatch: modified since it was saved; {way_out}")
