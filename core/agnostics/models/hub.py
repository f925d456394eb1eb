"""Models on the Hugging Face hub: download, cache look-up, and metadata."""

from __future__ import annotations

import json
import tempfile
from dataclasses import dataclass
from fnmatch import fnmatch
from http import HTTPStatus
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from agnostics.models.shape import ModelShape, shape_of
from agnostics.types.errors import UsageError
from agnostics.util.text import first_line

PATTERNS = ["*.json", "*.safetensors", "*.jinja", "*.txt"]
"""The files of a model that are downloaded."""
_TIMEOUT_S = 10


@dataclass(frozen=True, slots=True)
class RemoteModel:
    """A model that is not on this machine: its shape, and the bytes to download."""

    shape: ModelShape
    size: int


def download(name: str) -> Path:
    """The folder of the model `name`, from the cache if it is complete there. Raises UsageError if it fails."""
    from huggingface_hub import snapshot_download

    try:
        return Path(snapshot_download(name, allow_patterns=PATTERNS, etag_timeout=_TIMEOUT_S))
    except (OSError, ValueError) as error:  # the hub's own errors and the network's are of these kinds
        raise UsageError(f"model {name!r}: not a local folder, and the download failed: {first_line(error)}") from error


def cached(name: str) -> Path | None:
    """The folder of the model `name` in the cache, or None."""
    from huggingface_hub import snapshot_download

    try:
        folder = Path(snapshot_download(name, allow_patterns=PATTERNS, local_files_only=True))
    except (OSError, ValueError):
        return None
    return folder if any(folder.glob("*.safetensors")) else None


def look_up(name: str) -> RemoteModel | None:
    """The model `name` on the hub; None if the hub does not answer. Nothing is stored on this machine.

    Raises UsageError if the hub has no such model, or denies access.
    """
    from huggingface_hub import constants

    if constants.HF_HUB_OFFLINE:
        return None
    try:
        files = json.loads(_get(f"/api/models/{name}?blobs=true"))["siblings"]
        config = _get(f"/{name}/resolve/main/config.json")
    except HTTPError as error:
        if error.code >= HTTPStatus.INTERNAL_SERVER_ERROR:
            return None
        raise UsageError(f"model {name!r}: not a local folder, and the hub refuses it: {first_line(error)}") from error
    except OSError:
        return None
    sizes = [file["size"] for file in files if any(fnmatch(file["rfilename"], pattern) for pattern in PATTERNS)]
    with tempfile.TemporaryDirectory(prefix="agn-hub-") as temporary:
        (Path(temporary) / "config.json").write_bytes(config)
        return RemoteModel(shape_of(Path(temporary)), sum(sizes))


def _get(path: str) -> bytes:
    """The content of `path` on the hub, requested once: its own client would retry for half a minute."""
    from huggingface_hub import constants, get_token

    token = get_token()
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    with urlopen(Request(constants.ENDPOINT + path, headers=headers), timeout=_TIMEOUT_S) as answer:
        content: bytes = answer.read()
    return content
