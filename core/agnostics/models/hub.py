"""Models on the Hugging Face hub: to download one, to find it in the cache, or to ask what it is."""

from __future__ import annotations

import json
import tempfile
from dataclasses import dataclass
from fnmatch import fnmatch
from http import HTTPStatus
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from agnostics.models.memory import Shape, shape_of
from agnostics.types.errors import UsageError
from agnostics.util.text import first_line

PATTERNS = ["*.json", "*.safetensors", "*.jinja", "*.txt"]
"""The files of a model that are downloaded."""
_PATIENCE_S = 10


@dataclass(frozen=True, slots=True)
class Remote:
    """A model that is not on this machine: its shape, and the bytes that are to be downloaded."""

    shape: Shape
    size: int


def download(name: str) -> Path:
    """The folder of the model `name`, from the cache where it is whole there. Raises UsageError where it is not had."""
    from huggingface_hub import snapshot_download

    try:
        return Path(snapshot_download(name, allow_patterns=PATTERNS, etag_timeout=_PATIENCE_S))
    except (OSError, ValueError) as error:  # the hub's own errors and the network's are of these kinds
        raise UsageError(
            f"model {name!r}: no such folder, and not to be had from the hub: {first_line(error)}"
        ) from error


def cached(name: str) -> Path | None:
    """The folder of the model `name` in the cache, None where it is not there."""
    from huggingface_hub import snapshot_download

    try:
        folder = Path(snapshot_download(name, allow_patterns=PATTERNS, local_files_only=True))
    except (OSError, ValueError):
        return None
    return folder if any(folder.glob("*.safetensors")) else None


def look_up(name: str) -> Remote | None:
    """What the hub says of the model `name`; None where it does not answer. Nothing is left on this machine.

    Raises UsageError where the hub has no such model, or gives it to others only.
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
        raise UsageError(f"model {name!r}: no such folder, and the hub refuses it: {first_line(error)}") from error
    except OSError:
        return None
    sizes = [file["size"] for file in files if any(fnmatch(file["rfilename"], pattern) for pattern in PATTERNS)]
    with tempfile.TemporaryDirectory(prefix="agn-hub-") as aside:
        (Path(aside) / "config.json").write_bytes(config)
        return Remote(shape_of(Path(aside)), sum(sizes))


def _get(path: str) -> bytes:
    """What the hub has at `path`, asked once: its own client would go on asking for half a minute."""
    from huggingface_hub import constants, get_token

    token = get_token()
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    with urlopen(Request(constants.ENDPOINT + path, headers=headers), timeout=_PATIENCE_S) as answer:
        content: bytes = answer.read()
    return content
