"""From what `--sandbox` says to a pool: on this machine, or across the nodes of a cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agnostics.sandbox.modes import choose_backend
from agnostics.sandbox.pool import Pool

if TYPE_CHECKING:
    from agnostics.sandbox.ray.pool import ClusterPool

CLUSTER = "ray://"


def open_pool(sandbox: str = "auto", slots: int | None = None) -> Pool | ClusterPool:
    """A pool: `auto`, `docker`, `bubblewrap` or `process` on this machine; or `ray://ADDRESS[/MODE]`.

    ADDRESS is `auto` for the cluster that this machine is part of, or HOST:PORT of a Ray client server; MODE is what
    each node uses, `auto` if not given. Raises UsageError for an unknown mode and MissingRequirement where it does not
    work here.
    """
    if not sandbox.startswith(CLUSTER):
        return Pool(choose_backend(sandbox), slots)
    from agnostics.sandbox.ray.pool import ClusterPool

    host, _, mode = sandbox.removeprefix(CLUSTER).partition("/")
    return ClusterPool("auto" if host == "auto" else CLUSTER + host, mode or "auto", slots)
