"""Choosing an isolation mode: the best that works here, or the one asked for; never a weaker one in silence."""

from __future__ import annotations

import logging

from agnostics.sandbox.backend import Backend
from agnostics.types.errors import MissingRequirement, unknown_name_error

log = logging.getLogger("agnostics")

MODES = ("auto", "docker", "bubblewrap", "process")
HINTS = (*MODES, "ray://auto")


def choose_backend(mode: str = "auto") -> Backend:
    """The backend of `mode`; with `auto` docker where an engine answers, else bubblewrap.

    Raises UsageError for an unknown mode and MissingRequirement where the mode does not work here.
    """
    if mode not in MODES:
        raise unknown_name_error("sandbox", mode, HINTS)
    if mode == "auto":
        return _best()
    if mode == "process":
        log.warning("sandbox mode `process`: programs run with resource limits only, and see this machine's files")
    return _make(mode)


def _best() -> Backend:
    reasons = []
    for mode in ("docker", "bubblewrap"):
        try:
            return _make(mode)
        except MissingRequirement as error:
            reasons.append(str(error))
    raise MissingRequirement(f"no sandbox works here: {'; or '.join(reasons)}")


def _make(mode: str) -> Backend:
    if mode == "docker":
        from agnostics.sandbox.backends.docker import DockerBackend

        return DockerBackend()
    if mode == "bubblewrap":
        from agnostics.sandbox.backends.bubblewrap import BubblewrapBackend

        return BubblewrapBackend()
    from agnostics.sandbox.backends.process import ProcessBackend

    return ProcessBackend()
