"""The pool for a `--sandbox` value: on this machine, or on the nodes of a Ray cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agnostics.sandbox.modes import AUTO, RAY_PREFIX, Backends, candidates, choose_backend
from agnostics.sandbox.pool import Pool

if TYPE_CHECKING:
    from agnostics.sandbox.ray.pool import ClusterPool


def open_pool(sandbox: str = AUTO, slots: int | None = None, backends: Backends | None = None) -> Pool | ClusterPool:
    """A pool: `auto` or the name of a backend for this machine, `ray://ADDRESS[/NAME]` for a cluster.

    ADDRESS is `auto` for the cluster that this machine is part of, or HOST:PORT of a Ray client server; NAME is the
    backend on the nodes, `auto` by default. `backends` are the built-in ones by default. Raises UsageError for an
    unknown name and MissingRequirement if the backend does not work here.
    """
    if not sandbox.startswith(RAY_PREFIX):
        return Pool(choose_backend(sandbox, backends), slots)
    from agnostics.sandbox.ray.pool import ClusterPool

    host, _, name = sandbox.removeprefix(RAY_PREFIX).partition("/")
    address = AUTO if host == AUTO else RAY_PREFIX + host
    return ClusterPool(address, candidates(name or AUTO, backends), slots)
