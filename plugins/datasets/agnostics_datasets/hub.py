"""Streaming of records from the Hugging Face hub, without downloading whole files or caching them."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from agnostics import AgnosticsError, HubSource, MissingRequirement, UsageError, describe_error

from agnostics_datasets.files import Row

_PATIENCE_S = 10
_AT_ONCE = 16
"""The number of records of a Parquet file that are read at a time."""
_FORMATS = {".jsonl": "json", ".parquet": "parquet"}


def hub_rows(hub: HubSource, split: str) -> Iterator[Row]:
    """The records of `split` at `hub`, as `datasets` streams them.

    Raises MissingRequirement if `datasets` is not installed, UsageError if the data set does not exist or access to it
    is denied, AgnosticsError if the hub does not respond.
    """
    try:
        from datasets import load_dataset
        from huggingface_hub import constants, get_token
    except ImportError:
        raise MissingRequirement(
            f"{hub.repository} is read from the hub: pip install 'agnostics-datasets[hub]', or name a local file of it"
        ) from None
    if not constants.HF_HUB_OFFLINE:
        _ask(hub, constants.ENDPOINT, get_token())
    return _stream(hub, split, load_dataset)


def _ask(hub: HubSource, endpoint: str, token: str | None) -> None:
    """Request the revision once: the hub's own client would retry for half a minute, with a message each time."""
    from http import HTTPStatus
    from urllib.error import HTTPError
    from urllib.request import Request, urlopen

    headers = {"Authorization": f"Bearer {token}"} if token else {}
    path = f"/api/datasets/{hub.repository}/revision/{hub.revision or 'main'}"
    try:
        urlopen(Request(endpoint + path, headers=headers), timeout=_PATIENCE_S).close()
    except HTTPError as error:
        kind = AgnosticsError if error.code >= HTTPStatus.INTERNAL_SERVER_ERROR else UsageError
        raise kind(f"the hub refuses {hub}: {error}") from error
    except OSError as error:
        raise AgnosticsError(
            f"{hub}: the hub does not answer ({error}); name a local file of it instead, as in NAME:FILE"
        ) from error


def _stream(hub: HubSource, split: str, load_dataset: Any) -> Iterator[Row]:
    logging.getLogger("datasets").setLevel(logging.ERROR)
    try:
        for number, record in enumerate(load_dataset(**_request(hub, split), streaming=True), start=1):
            yield f"{hub.repository}: {split}: row {number}", record
    except Exception as error:  # raised by the network, the hub's client or a format's reader
        raise AgnosticsError(f"{hub}: split {split!r} cannot be read: {describe_error(error)}") from error


def _request(hub: HubSource, split: str) -> dict[str, Any]:
    """Arguments for `load_dataset`: file names if the repository has a loading script, which is not run."""
    part = {"columns": list(hub.columns), "batch_size": _AT_ONCE} if hub.columns else {}
    if not hub.files:
        place = {"path": hub.repository, "name": hub.configuration, "revision": hub.revision, "split": split}
        return {**place, **part}
    pattern = hub.files[split]
    revision = f"@{hub.revision}" if hub.revision else ""
    files = f"hf://datasets/{hub.repository}{revision}/{pattern}"
    return {"path": _FORMATS[Path(pattern).suffix], "data_files": files, "split": "train", **part}
