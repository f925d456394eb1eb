"""The models in the user's cache: starter models, and GGUF files in Hugging Face's format."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agnostics.types.errors import UsageError, unknown_name_error
from agnostics.util.files import sha256
from agnostics.util.locks import exclusive_lock
from agnostics.util.paths import cache_folder

ORIGIN = "origin.json"
"""The file of a cached model that says what it was made of, with the checksums of its other files."""


@dataclass(frozen=True, slots=True)
class CachedModel:
    """A model in the cache. `origin` is what it was made of, `size` its bytes."""

    folder: Path
    origin: dict[str, Any]
    size: int

    @property
    def name(self) -> str:
        """Its name in the cache."""
        return self.folder.name


def models_folder() -> Path:
    """The folder of the cached models."""
    return cache_folder() / "models"


def cached_models() -> list[CachedModel]:
    """All models in the cache, by name."""
    folders = sorted(models_folder().glob("*/config.json"))
    return [_cached(path.parent) for path in folders if not path.parent.name.startswith(".")]


def cached_model(name: str) -> CachedModel:
    """The cached model `name`. Raises UsageError for an unknown one."""
    models = {model.name: model for model in cached_models()}
    if name not in models:
        raise unknown_name_error("cached model", name, models)
    return models[name]


def check_files(model: CachedModel) -> list[str]:
    """The names of the files of `model` that are missing or modified since they were written.

    Raises UsageError if the model has no checksums.
    """
    files = model.origin.get("files")
    if not files:
        raise UsageError(f"{model.folder}: it has no checksums; remove it with: agn model remove {model.name}")
    paths = {name: model.folder / name for name in files}
    return [name for name, path in paths.items() if not path.is_file() or sha256(path) != files[name]]


def remove(model: CachedModel) -> None:
    """Delete a cached model."""
    with exclusive_lock("models"):
        shutil.rmtree(model.folder)


@contextmanager
def new_model(folder: Path, origin: dict[str, Any]) -> Iterator[Path]:
    """A path beside `folder` that is renamed to `folder` at the end, with `origin` and the checksums of its files.

    The rest of a killed process is removed first. One process at a time may be in the block: hold the lock `models`.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    temporary = folder.with_name(".unfinished")
    shutil.rmtree(temporary, ignore_errors=True)
    try:
        yield temporary
        write_origin(temporary, {**origin, "files": {p.name: sha256(p) for p in sorted(temporary.iterdir())}})
        temporary.rename(folder)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def write_origin(folder: Path, origin: dict[str, Any]) -> None:
    """Write what a model was made of into its folder."""
    (folder / ORIGIN).write_text(json.dumps(origin, indent=2) + "\n", encoding="utf-8")


def _cached(folder: Path) -> CachedModel:
    path = folder / ORIGIN
    origin = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    return CachedModel(folder, origin, sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()))
