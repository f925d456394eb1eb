"""Models on the Hugging Face hub: download, cache look-up, metadata, and upload."""

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
    """The folder of the model `name`, from the cache if it is complete there, or its GGUF file.

    `name` is OWNER/NAME, or OWNER/NAME/FILE.gguf. Raises UsageError if the download fails, or if a repository without
    other weights has several GGUF files, of which none is named.
    """
    from huggingface_hub import hf_hub_download, snapshot_download

    repository, file = _split(name)
    try:
        if file:
            return Path(hf_hub_download(repository, file, etag_timeout=_TIMEOUT_S))
        folder = Path(snapshot_download(repository, allow_patterns=PATTERNS, etag_timeout=_TIMEOUT_S))
        if any(folder.glob("*.safetensors")) or any(folder.glob("*.gguf")):
            return folder
        return Path(hf_hub_download(repository, _only_gguf(repository), etag_timeout=_TIMEOUT_S))
    except (OSError, ValueError) as error:  # the hub's own errors and the network's are of these kinds
        raise UsageError(f"model {name!r}: not a local folder, and the download failed: {first_line(error)}") from error


def cached(name: str) -> Path | None:
    """The folder of the model `name` in the cache, or its GGUF file, or None."""
    from huggingface_hub import snapshot_download

    repository, file = _split(name)
    try:
        folder = Path(snapshot_download(repository, allow_patterns=[file or "*"], local_files_only=True))
    except (OSError, ValueError):
        return None
    if file:
        return folder / file if (folder / file).is_file() else None
    return folder if any(folder.glob("*.safetensors")) or any(folder.glob("*.gguf")) else None


def upload(folder: Path, name: str, card: str, *, private: bool) -> str:
    """Upload the model in `folder` to the repository `name`, with `card` as its README.md; returns its address.

    The repository is made if it is not there. Everything is one commit. Raises UsageError if the hub refuses it.
    """
    from huggingface_hub import CommitOperationAdd, HfApi, constants

    files = [path for path in sorted(folder.iterdir()) if path.is_file() and path.name != "README.md"]
    operations = [CommitOperationAdd("README.md", card.encode()), *(CommitOperationAdd(p.name, p) for p in files)]
    try:
        api = HfApi()
        api.create_repo(name, private=private, exist_ok=True)
        api.create_commit(name, operations, commit_message="Upload the model")
    except Exception as error:  # the hub's errors, and those of the HTTP client that its package uses
        raise UsageError(f"{name}: the upload failed: {first_line(error)}; log in with: hf auth login") from error
    return f"{constants.ENDPOINT}/{name}"


def _split(name: str) -> tuple[str, str | None]:
    """The repository and the file of OWNER/NAME or OWNER/NAME/FILE."""
    owner, model, *file = name.split("/", 2)
    return f"{owner}/{model}", file[0] if file else None


def _only_gguf(repository: str) -> str:
    """The GGUF file of a repository without other weights. Raises UsageError unless there is one."""
    from huggingface_hub import list_repo_files

    files = [file for file in list_repo_files(repository) if file.endswith(".gguf")]
    if len(files) != 1:
        several = f"several GGUF files; name one: {', '.join(f'{repository}/{file}' for file in files)}"
        raise UsageError(f"model {repository!r} has no *.safetensors, and {several if files else 'no GGUF file'}")
    return files[0]


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
