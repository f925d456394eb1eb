"""The connection to a Ray cluster."""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from agnostics.types.errors import MissingRequirement
from agnostics.util.text import first_line

CONNECT_TIMEOUT_S = 10


def connect(address: str) -> tuple[Any, bool]:
    """The Ray module, connected to the cluster at `address`, and whether this call connected it.

    `address` is Ray's: `auto` for the cluster that this machine is part of, or `ray://HOST:PORT`. Raises
    MissingRequirement if Ray is not installed or the cluster does not answer.
    """
    try:
        import ray
    except ImportError as error:
        raise MissingRequirement("`ray` is not installed; run: pip install 'agnostics[ray]'") from error
    if ray.is_initialized():
        return ray, False
    try:
        _check_reachable(os.environ.get("RAY_ADDRESS", address) if address == "auto" else address)
        ray.init(address=address, logging_level=logging.ERROR, log_to_driver=False)
    except (OSError, RuntimeError, ValueError) as error:
        raise MissingRequirement(
            f"no Ray cluster answers at {address} ({ray_error_text(error)}); run: ray start --head"
        ) from error
    return ray, True


@contextmanager
def connected(address: str) -> Iterator[Any]:
    """The Ray module, connected to the cluster at `address` for a block; see `connect`."""
    ray, connected_here = connect(address)
    try:
        yield ray
    finally:
        if connected_here:
            ray.shutdown()


def ray_error_text(error: BaseException) -> str:
    """The first line of an error; if Ray transports the error of a task, the first line of that one."""
    cause = getattr(error, "cause", None)
    source = cause if isinstance(cause, BaseException) else error
    return first_line(source)[:300]


def _check_reachable(address: str) -> None:
    """Raise OSError if nothing listens at HOST:PORT; Ray itself would retry for minutes."""
    host, colon, port = address.removeprefix("ray://").rpartition(":")
    if colon:
        socket.create_connection((host, int(port)), timeout=CONNECT_TIMEOUT_S).close()
