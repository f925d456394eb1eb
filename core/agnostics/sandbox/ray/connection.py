"""The way into a Ray cluster."""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from agnostics.types.errors import MissingRequirement
from agnostics.util.text import first_line

KNOCK_S = 10


def connect(address: str) -> tuple[Any, bool]:
    """Ray, connected to the cluster at `address`, and whether it was this call that joined it.

    `address` is what Ray takes: `auto` for the cluster that this machine is part of, or `ray://HOST:PORT`. Raises
    MissingRequirement where Ray is not installed or the cluster does not answer.
    """
    try:
        import ray
    except ImportError as error:
        raise MissingRequirement("`ray` is not installed; run: pip install 'agnostics[ray]'") from error
    if ray.is_initialized():
        return ray, False
    try:
        _knock(os.environ.get("RAY_ADDRESS", address) if address == "auto" else address)
        ray.init(address=address, logging_level=logging.ERROR, log_to_driver=False)
    except (OSError, RuntimeError, ValueError) as error:
        raise MissingRequirement(
            f"no Ray cluster answers at {address} ({what_ray_says(error)}); run: ray start --head"
        ) from error
    return ray, True


@contextmanager
def connected(address: str) -> Iterator[Any]:
    """Ray, connected to the cluster at `address` for a block; see `connect`."""
    ray, ours = connect(address)
    try:
        yield ray
    finally:
        if ours:
            ray.shutdown()


def what_ray_says(error: BaseException) -> str:
    """The first thing that an error says, on one line; of one that Ray carries, what it was caused by."""
    cause = getattr(error, "cause", None)
    return first_line(cause if isinstance(cause, BaseException) else error)[:300]


def _knock(address: str) -> None:
    """Raise OSError where nobody listens at HOST:PORT; Ray itself would go on asking for minutes."""
    host, colon, port = address.removeprefix("ray://").rpartition(":")
    if colon:
        socket.create_connection((host, int(port)), timeout=KNOCK_S).close()
