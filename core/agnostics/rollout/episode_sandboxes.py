"""The sandboxes of episodes beside the verifier: a session pool for each language, and the checker of answers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass, field
from functools import cached_property
from threading import Lock
from typing import TypeVar

from agnostics.math import MathChecker
from agnostics.sandbox.modes import AUTO, Backends
from agnostics.sandbox.session import Session
from agnostics.sandbox.session_pool import SessionPool
from agnostics.types.language import Language
from agnostics.types.task import Limits

Result = TypeVar("Result")
MAX_SESSIONS = 64
"""Sessions at the same time; episodes that need another one wait for it."""
LIMITS = Limits(run_s=120.0, memory_mb=512, processes=128)
"""The limits of a command: 120 s as in the released Code World Model."""


@dataclass
class EpisodeSandboxes:
    """Opens sessions, at most `MAX_SESSIONS` at a time, and compares mathematical answers.

    Each sandbox starts when it is first asked for. Used on one event loop; `close_all` ends every one.
    """

    sandbox: str = AUTO
    backends: Backends | None = None
    _pools: dict[str, SessionPool] = field(default_factory=dict)
    _checker: MathChecker | None = None
    _lock: Lock = field(default_factory=Lock)

    async def open(self, language: Language, threads: Executor) -> Session:
        """A session of this language. Raises what `SessionPool.open` raises."""
        await self._permits.acquire()
        try:
            return await _in(threads, lambda: self._pool_of(language).open())
        except BaseException:
            self._permits.release()
            raise

    async def close(self, session: Session, threads: Executor) -> None:
        """Close a session that `open` returned."""
        try:
            await _in(threads, session.close)
        finally:
            self._permits.release()

    def _pool_of(self, language: Language) -> SessionPool:
        """The pool of a language; making the first one asks the sandbox whether it works, which takes a while."""
        with self._lock:
            if language.name not in self._pools:
                self._pools[language.name] = SessionPool(language, self.sandbox, LIMITS, backends=self.backends)
            return self._pools[language.name]

    def math_checker(self) -> MathChecker:
        """The checker of answers. Raises MissingRequirement without the packages of the extra `math`."""
        with self._lock:
            if self._checker is None:
                self._checker = MathChecker(self.sandbox, backends=self.backends)
            return self._checker

    def close_all(self) -> None:
        """End every session, every pool and the checker."""
        if self._checker:
            self._checker.close()
        while self._pools:
            self._pools.popitem()[1].close()

    @cached_property
    def _permits(self) -> asyncio.Semaphore:
        return asyncio.Semaphore(MAX_SESSIONS)


async def _in(threads: Executor, function: Callable[[], Result]) -> Result:
    return await asyncio.get_running_loop().run_in_executor(threads, function)
