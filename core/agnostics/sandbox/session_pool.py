"""The slots of sessions: warm ones that wait, and those that are in use."""

from __future__ import annotations

import logging
import threading
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Self

from agnostics.sandbox.backend import Slot
from agnostics.sandbox.modes import AUTO, RAY_PREFIX, Backends, choose_backend
from agnostics.sandbox.session import TRANSFER_BYTES, Session
from agnostics.sandbox.slot_options import SlotOptions
from agnostics.sandbox.start_retries import PAUSES_S
from agnostics.sandbox.tool_session import ToolSession
from agnostics.sandbox.worker import HARNESS_MB
from agnostics.types.errors import AgnosticsError, MissingRequirement, UsageError
from agnostics.types.language import Language
from agnostics.types.task import Limits

log = logging.getLogger("agnostics")

WORKSPACE_MB = 256
"""The memory that a slot has for the files of a session, beside that of its commands."""
_OVERHEAD_MB = WORKSPACE_MB + HARNESS_MB + (3 * TRANSFER_BYTES >> 20)
"""With the harness, and what it holds while files are carried: the frame, the input and the output."""
_STARTS_AT_ONCE = 8
_START_TIMEOUT_S = 1800.0
"""The first slot of a language may wait for its image."""


class SessionPool:
    """Opens sessions in slots of a language. A context manager; `close` ends every session.

    A slot is cleared after a session and kept for another one; one that cannot be is replaced. `warm` slots more than
    are in use are kept ready, so that a session starts at once. `sandbox` is `auto` or the name of a backend on this
    machine; `backends` are the built-in ones by default; `options` are what its slots have beyond those of programs.
    Raises UsageError for an unknown sandbox and MissingRequirement for one that does not work here.
    """

    def __init__(
        self,
        language: Language,
        sandbox: str = AUTO,
        limits: Limits | None = None,
        warm: int = 1,
        backends: Backends | None = None,
        options: SlotOptions | None = None,
    ) -> None:
        if sandbox.startswith(RAY_PREFIX):
            raise UsageError("sessions run on this machine, not on the nodes of a cluster; use --sandbox auto")
        self._language = language
        self._limits = limits or Limits()
        self._warm = warm
        self._options = options or SlotOptions()
        self._slot_factory = choose_backend(sandbox, backends).open()
        self._starter = ThreadPoolExecutor(_STARTS_AT_ONCE, thread_name_prefix="agnostics-session-start")
        self._lock = threading.Lock()
        self._ready = deque[Future[Slot]]()
        self._sessions = set[Session]()
        self._closed = False
        self._ended = threading.Event()
        with self._lock:
            self._keep_warm()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def open(self) -> Session:
        """Open a session with an empty workspace; it waits for a slot if none is ready.

        Raises MissingRequirement if the language's toolchain is not here, UsageError if the sandbox does not have what
        the options ask for, AgnosticsError if no slot starts.
        """
        with self._lock:
            if self._closed:
                raise AgnosticsError("the sandbox is closed")
            starting = self._ready.popleft() if self._ready else self._starter.submit(self._start)
            self._keep_warm()
        slot = starting.result(timeout=_START_TIMEOUT_S)
        session = self._session_in(slot)
        with self._lock:
            self._sessions.add(session)
            closed = self._closed
        if closed:  # while the slot started
            session.close()
        return session

    def await_warm(self) -> None:
        """Wait until the warm slots have started. Raises MissingRequirement or AgnosticsError if one does not start."""
        with self._lock:
            ready = list(self._ready)
        for starting in ready:
            starting.result(timeout=_START_TIMEOUT_S)

    def close(self) -> None:
        """End every session and every slot. Safe to call twice."""
        with self._lock:
            self._closed = True
            sessions, ready = list(self._sessions), list(self._ready)
            self._ready.clear()
        self._ended.set()
        for session in sessions:
            session.close()
        self._starter.shutdown(cancel_futures=True)
        for starting in ready:
            if not starting.cancelled() and not starting.exception():
                starting.result().close()
        self._slot_factory.close()

    def _session_in(self, slot: Slot) -> Session:
        def release(cleared: bool) -> None:
            self._take_back(session, slot, cleared)

        tool = self._options.file_tool
        session = ToolSession(slot, self._limits, release, tool) if tool else Session(slot, self._limits, release)
        return session

    def _keep_warm(self) -> None:
        while len(self._ready) < self._warm:
            self._ready.append(self._starter.submit(self._start))

    def _start(self) -> Slot:
        """Start a slot, as often as those of programs are: an engine may be restarting."""
        for pause_s in PAUSES_S:
            try:
                return self._start_once()
            except (MissingRequirement, UsageError):
                raise
            except (AgnosticsError, OSError) as error:
                log.warning("a slot for sessions did not start: %s", error)
                if self._ended.wait(pause_s):
                    raise
        return self._start_once()

    def _start_once(self) -> Slot:
        slot = self._slot_factory.start_with(self._language, self._options)
        try:
            slot.set_limits(self._limits.memory_mb + _OVERHEAD_MB, self._limits.processes)
        except BaseException:
            slot.close()
            raise
        return slot

    def _take_back(self, session: Session, slot: Slot, cleared: bool) -> None:
        """Keep the slot of a closed session for another one, the next, if it is cleared.

        TCP leaves states of closed connections behind, which a network namespace keeps for a minute.
        """
        with self._lock:
            self._sessions.discard(session)
            if cleared and not self._closed and not self._options.loopback:
                ready = Future[Slot]()
                ready.set_result(slot)
                self._ready.appendleft(ready)
                return
        slot.close()
