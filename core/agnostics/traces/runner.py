"""Runs programs in the sandbox with their tracer."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Self

from agnostics.sandbox.job_codec import to_bytes
from agnostics.sandbox.modes import AUTO, Backends
from agnostics.sandbox.protocol import RunResult
from agnostics.sandbox.session import Session, SessionError
from agnostics.sandbox.session_pool import SessionPool
from agnostics.sandbox.toolchain import install_hint
from agnostics.traces.events import Trace
from agnostics.traces.limits import TraceLimits
from agnostics.traces.wire import read_trace
from agnostics.types.errors import AgnosticsError, MissingRequirement
from agnostics.types.language import Language
from agnostics.types.task import Limits
from agnostics.types.verification import Verdict

_FILE = ".agn_trace.jsonl"
"""The file of the trace, in the folder of the program."""
_BUILD_S = 120.0
_ATTEMPTS = 2
_MESSAGE_CHARACTERS = 300


@dataclass(frozen=True, slots=True)
class TracedRun:
    """A program that was run on an input: its outputs and its trace.

    The verdict is `accepted` if it ended with exit status 0: outputs are not compared. `trace` is None if there is
    none, with the reason in `error`.
    """

    verdict: Verdict
    exit_code: int | None = None
    signal: int | None = None
    stdout: bytes = b""
    stderr: bytes = b""
    trace: Trace | None = None
    error: str = ""


class TraceRunner:
    """Traces programs of a language, for any number of threads. A context manager.

    Each thread that traces takes a session of its own. Raises UsageError for a language without a tracer, and
    MissingRequirement if its toolchain or its tracer cannot be had here.
    """

    def __init__(
        self,
        language: Language,
        sandbox: str = AUTO,
        limits: Limits | None = None,
        trace_limits: TraceLimits | None = None,
        backends: Backends | None = None,
    ) -> None:
        self._language = language.traced()
        assert language.trace is not None
        self._trace = language.trace
        self._limits = limits or language.limits.over(Limits())
        self.trace_limits = trace_limits or TraceLimits()
        self._pool = SessionPool(self._language, sandbox, self._limits, warm=0, backends=backends)
        self._lock = threading.Lock()
        self._idle: list[Session] = []
        self._prepared: bytes | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """End every session; programs that run in other threads are killed."""
        self._pool.close()

    @property
    def language(self) -> str:
        """The name of the language."""
        return self._language.name

    def run(self, program: str, stdin: str = "") -> TracedRun:
        """Run `program` on an input, and trace it. If the sandbox fails, twice, the verdict is `sandbox_error`."""
        failure = ""
        for _ in range(_ATTEMPTS):
            try:
                with self._session() as session:
                    return self._run_in(session, program, stdin)
            except SessionError as error:
                failure = str(error)
        return TracedRun(Verdict.SANDBOX_ERROR, error=failure)

    @contextmanager
    def _session(self) -> Iterator[Session]:
        """A session that nobody else uses; it is closed if an exception leaves the block."""
        with self._lock:
            session = self._idle.pop() if self._idle else None
        session = session or self._pool.open()
        try:
            yield session
        except BaseException:
            session.close()
            raise
        with self._lock:
            self._idle.append(session)

    def _run_in(self, session: Session, program: str, stdin: str) -> TracedRun:
        session.restore(self._workspace(session))
        session.put({self._language.filename: to_bytes(program)})
        if argv := self._language.compile_argv():
            compiled = session.exec(argv, run_s=self._limits.compile_s, environment=self._language.environment)
            if compiled.verdict is not Verdict.ACCEPTED:
                message = _message(compiled)
                return TracedRun(Verdict.COMPILE_ERROR, stderr=compiled.stderr, error=f"it was not compiled: {message}")
        tracing = {"AGN_TRACE": _FILE, **self.trace_limits.environment()}
        environment = {**self._language.environment, **tracing}
        result = session.exec(self._language.execute_argv(), stdin=to_bytes(stdin), environment=environment)
        trace, error = self._read(session, program)
        return TracedRun(
            result.verdict, result.exit_code, result.signal, result.stdout, result.stderr, trace=trace, error=error
        )

    def _read(self, session: Session, program: str) -> tuple[Trace | None, str]:
        """The trace, or the reason why there is none: the program can do with the file what it likes."""
        try:
            return read_trace(program, session.get(_FILE), self.trace_limits), ""
        except SessionError:
            raise
        except AgnosticsError as error:
            return None, str(error)

    def _workspace(self, session: Session) -> bytes:
        """What stands beside every program, made in the session of the first."""
        with self._lock:
            if self._prepared is None:
                self._prepared = self._prepare(session)
            return self._prepared

    def _prepare(self, session: Session) -> bytes:
        texts = {name: to_bytes(text) for name, text in self._trace.files.items()}
        files = {**self._language.support_files(), **texts}
        if files:
            session.put(files)
            session.exec(["chmod", "555", *files])
        if argv := self._language.trace_build_argv():
            built = session.exec(argv, run_s=_BUILD_S, environment=self._language.environment)
            if built.verdict is not Verdict.ACCEPTED:
                raise MissingRequirement(
                    f"the tracer of {self._language.name} could not be made: {_message(built)}; "
                    f"to mend it: {install_hint(self._language)}"
                )
        return session.snapshot()


def _message(result: RunResult) -> str:
    lines = (result.stderr or result.stdout).decode(errors="replace").strip().splitlines()
    return next((line for line in lines if "error" in line), lines[0] if lines else str(result.verdict))[
        :_MESSAGE_CHARACTERS
    ]
