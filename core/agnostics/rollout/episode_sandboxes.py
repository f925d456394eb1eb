"""The sandboxes of episodes beside the verifier: sessions and tracers of each language, and the checker of answers."""

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
from agnostics.traces.runner import TracedRun, TraceRunner
from agnostics.types.language import Language
from agnostics.types.task import Limits

Result = TypeVar("Result")
MAX_SESSIONS = 64
"""Sessions at the same time; episodes that need another one wait for it."""
MAX_TRACES = 8
"""Programs that are traced at the same time."""
LIMITS = Limits(run_s=120.0, memory_mb=512, processes=128)
"""The limits of a command: 120 s as in the released Code World Model."""


@dataclass
class EpisodeSandboxes:
    """Opens sessions, at most `MAX_SESSIONS` at a time, traces programs, and compares mathematical answers.

    Each sandbox starts when it is first asked for. Used on one event loop; `close_all` ends every one.
    """

    sandbox: str = AUTO
    backends: Backends | None = None
    _pools: dict[str, SessionPool] = field(default_factory=dict)
    _tracers: dict[str, TraceRunner] = field(default_factory=dict)
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

    async def trace(self, language: Language, program: str, stdin: str, threads: Executor) -> TracedRun:
        """A program's run on an input, with its trace. Raises what `TraceRunner` raises."""
        async with self._tracing:
            return await _in(threads, lambda: self._tracer_of(language).run(program, stdin))

    def _tracer_of(self, language: Language) -> TraceRunner:
        with self._lock:
            if language.name not in self._tracers:
                self._tracers[language.name] = TraceRunner(language, self.sandbox, backends=self.backends)
            return self._tracers[language.name]

    def math_checker(self) -> MathChecker:
        """The checker of answers. Raises MissingRequirement without the packages of the extra `math`."""
        with self._lock:
            if self._checker is None:
                self._checker = MathChecker(self.sandbox, backends=self.backends)
            return self._checker

    def close_all(self) -> None:
        """End every session, every pool, every tracer and the checker."""
        if self._checker:
            self._checker.close()
        while self._tracers:
            self._tracers.popitem()[1].close()
        while self._pools:
            self._pools.popitem()[1].close()

    @cached_property
    def _permits(self) -> asyncio.Semaphore:
        return asyncio.Semaphore(MAX_SESSIONS)

    @cached_property
    def _tracing(self) -> asyncio.Semaphore:
        return asyncio.Semaphore(MAX_TRACES)


async def _in(threads: Executor, function: Callable[[], Result]) -> Result:
    return await asyncio.get_running_loop().run_in_executor(threads, function)
