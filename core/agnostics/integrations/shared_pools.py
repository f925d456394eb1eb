"""The pools of sessions of the evaluations that run in this process, one for each configuration."""

from __future__ import annotations

import threading
from dataclasses import dataclass

from agnostics.plugins.manager import load_plugins
from agnostics.sandbox.modes import AUTO
from agnostics.sandbox.session_pool import SessionPool
from agnostics.types.language import Language
from agnostics.types.task import Frozen, Limits

SHELL = Language(name="shell", prompt="", filename="script", execute="bash script")
"""The language of a sandbox for which none is named: Debian's own programs."""
LIMITS = Limits(run_s=600, memory_mb=1024, processes=256)
"""The limits of an agent's command, unless others are configured."""


class SandboxConfig(Frozen):
    """The configuration of a sandbox."""

    language: str | None = None
    """The language whose toolchain is there, by name or as a YAML file; only Debian's own programs by default."""
    sandbox: str = AUTO
    """The sandbox mode: `auto`, or a backend's name."""
    limits: Limits = LIMITS
    """The limits of each command; `run_s` is for those without a timeout."""


def open_pool(config: SandboxConfig) -> SessionPool:
    """A pool of sessions whose first slot has started. Raises MissingRequirement or UsageError if none does."""
    plugins = load_plugins()
    language = SHELL if config.language is None else plugins.language(config.language)
    pool = SessionPool(language, config.sandbox, config.limits, backends=plugins.sandboxes())
    try:
        pool.await_warm()
    except BaseException:
        pool.close()
        raise
    return pool


@dataclass
class _Shared:
    pool: SessionPool
    users: int = 0


class SharedPools:
    """Pools by configuration; each is closed by the last of those that opened it. Safe to use from several threads."""

    def __init__(self) -> None:
        self._shared = dict[str, _Shared]()
        self._lock = threading.Lock()

    def open(self, config: SandboxConfig) -> None:
        """Open a pool unless it is open. Raises what `open_pool` raises."""
        key = config.model_dump_json()
        with self._lock:
            if key not in self._shared:
                self._shared[key] = _Shared(open_pool(config))
            self._shared[key].users += 1

    def pool_of(self, config: SandboxConfig) -> SessionPool:
        """The open pool of a configuration."""
        return self._shared[config.model_dump_json()].pool

    def close(self, config: SandboxConfig) -> None:
        """Close a pool, if nobody else has opened it."""
        key = config.model_dump_json()
        with self._lock:
            self._shared[key].users -= 1
            if not self._shared[key].users:
                self._shared.pop(key).pool.close()
