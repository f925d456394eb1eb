"""Models on the Hugging Face hub: to download one, or to find it in the cache."""

from __future__ import annotations

from pathlib import Path

from agnostics.errors import UsageError

PATTERNS = ["*.json", "*.safetensors", "*.jinja", "*.txt"]
"""The files of a model that are downloaded."""
_PATIENCE_S = 10


def download(name: str) -> Path:
    """The folder of the model `name`, from the cache where it is whole there. Raises UsageError where it is not had."""
    from huggingface_hub import snapshot_download

    try:
        return Path(snapshot_download(name, allow_patterns=PATTERNS, etag_timeout=_PATIENCE_S))
    except (OSError, ValueError) as error:  # the hub's own errors and the network's are of these kinds
        raise UsageError(f"model {name!r}: no such folder, and not to be had from the hub: {line_of(error)}") from error


def cached(name: str) -> Path | None:
    """The folder of the model `name` in the cache, None where it is not there."""
    from huggingface_hub import snapshot_download

    try:
        folder = Path(snapshot_download(name, allow_patterns=PATTERNS, local_files_only=True))
    except (OSError, ValueError):
        return None
    return folder if any(folder.glob("*.safetensors")) else None


def line_of(error: Exception) -> str:
    """The first line of what `error` says."""
    return (str(error).splitlines() or [type(error).__name__])[0]
