"""An inspect_ai sandbox, `agnostics`: each sample of an evaluation has a session of its own.

inspect_ai finds it through the entry point `agnostics` of the group `inspect_ai`. Where a session differs from a
machine: all processes of a command end with it, so nothing runs in the background between two commands (no
`exec_remote`, no `bash_session`) and nobody can connect to it; there is one user; commands run one at a time.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from pathlib import PurePath
from typing import Any, Literal, TypeVar, overload

import anyio
from anyio import to_thread
from inspect_ai.util import (
    ExecResult,
    OutputLimitExceededError,
    SandboxEnvironment,
    SandboxEnvironmentConfigType,
    SandboxEnvironmentLimits,
    SandboxUnavailableError,
    SandboxUserUnsupportedError,
    sandboxenv,
)
from pydantic import BaseModel

from agnostics.integrations.session_files import FileTooLarge, read_file, write_file
from agnostics.integrations.shared_pools import SandboxConfig, SharedPools
from agnostics.sandbox.protocol import RunResult
from agnostics.sandbox.session import TRANSFER_BYTES, Session, SessionError
from agnostics.types.errors import AgnosticsError
from agnostics.types.verification import Verdict

T = TypeVar("T")

_POOLS = SharedPools()

_IN_FOLDER = ("/bin/sh", "-c", 'cd -- "$1" && shift && exec "$@"', "sh")
_NOT_PERMITTED = r"(cannot start|sh: [^:]*:( exec:)?) {name}: Permission denied\n?"
"""What the harness and the shells say of a command that they may not execute."""
_NOT_STARTED = 127
"""The exit status that shells report of a command that cannot be started."""
_SIGNALLED = 128
"""Added to the number of a signal, it is the exit status that shells report."""

_END_S = 30.0
"""The time that a command has to end once it is interrupted; one that does not is left to the session's end."""
_PAUSE_S = 0.01


@sandboxenv(name="agnostics")
class AgnosticsSandboxEnvironment(SandboxEnvironment):
    """A session as inspect_ai's SandboxEnvironment; its methods raise what the base class says."""

    def __init__(self, session: Session, run_s: float) -> None:
        super().__init__()
        self._session = session
        self._run_s = run_s
        self._one_at_a_time = anyio.Lock()  # those that wait then hold no thread
        self._thread = anyio.CapacityLimiter(1)

    async def exec(
        self,
        cmd: list[str],
        input: str | bytes | None = None,
        cwd: str | None = None,
        env: dict[str, str] | None = None,
        user: str | None = None,
        timeout: int | None = None,
        timeout_retry: bool = True,  # a session tries nothing again
        concurrency: bool = True,  # time limits do not depend on what runs beside
    ) -> ExecResult[str]:
        """Run a command; a timeout is in seconds of its own: waiting for a processor is not counted.

        If the call is cancelled, the command is killed.
        """
        if user is not None:
            raise SandboxUserUnsupportedError(f"a session of agnostics has one user and runs nothing as {user!r}")
        argv = cmd if cwd is None else [*_IN_FOLDER, cwd, *cmd]
        stdin = _bytes(input or b"")
        limit, limit_text = (
            SandboxEnvironmentLimits.MAX_EXEC_OUTPUT_SIZE,
            SandboxEnvironmentLimits.MAX_EXEC_OUTPUT_SIZE_STR,
        )
        run_s = timeout or self._run_s
        try:
            result = await self._call(
                lambda: self._session.exec(argv, stdin=stdin, environment=env, run_s=run_s, output_bytes=limit)
            )
        except AgnosticsError as error:  # a model wrote what no command can hold
            return ExecResult(False, _NOT_STARTED, "", f"cannot start: {error}\n")
        if result.verdict is Verdict.TIME_LIMIT:
            raise TimeoutError(f"the command was stopped after {run_s:g} seconds")
        if result.verdict is Verdict.OUTPUT_LIMIT or result.truncated:
            raise OutputLimitExceededError(limit_text, _text(result.stdout or result.stderr))
        if _may_not_be_executed(result, cmd[0]):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), cmd[0])
        status = _exit_status(result)
        return ExecResult(status == 0, status, _text(result.stdout), _text(result.stderr))

    async def write_file(self, file: str, contents: str | bytes) -> None:
        """Write a file of at most 64 MiB."""
        await self._call(lambda: write_file(self._session, file, _bytes(contents)))

    @overload
    async def read_file(self, file: str, text: Literal[True] = True) -> str: ...

    @overload
    async def read_file(self, file: str, text: Literal[False]) -> bytes: ...

    async def read_file(self, file: str, text: bool = True) -> str | bytes:
        """The contents of a file of at most 64 MiB, or inspect_ai's limit if that is less."""
        limit, limit_text = SandboxEnvironmentLimits.MAX_READ_FILE_SIZE, SandboxEnvironmentLimits.MAX_READ_FILE_SIZE_STR
        if limit > TRANSFER_BYTES:
            limit, limit_text = TRANSFER_BYTES, f"{TRANSFER_BYTES >> 20} MiB"
        try:
            data = await self._call(lambda: read_file(self._session, file, limit))
        except FileTooLarge:
            raise OutputLimitExceededError(limit_text, None) from None
        return data.decode() if text else data

    async def _call(self, function: Callable[[], T]) -> T:
        """The result of a function that runs a command, called in a thread; the command ends if this is cancelled."""
        call = Future[T]()
        async with self._one_at_a_time:
            try:
                await to_thread.run_sync(
                    partial(_carry_out, call, function), abandon_on_cancel=True, limiter=self._thread
                )
            except anyio.get_cancelled_exc_class():
                await self._end(call)
                raise
        try:
            return call.result()
        except SessionError as error:
            raise SandboxUnavailableError(str(error)) from error

    async def _end(self, call: Future[T]) -> None:
        """Interrupt the command of a call, which may not have begun, until the call has ended."""
        with anyio.move_on_after(_END_S, shield=True):
            while not (call.cancel() or call.done()):
                self._session.interrupt()
                await anyio.sleep(_PAUSE_S)

    @classmethod
    async def task_init(cls, task_name: str, config: SandboxEnvironmentConfigType | None) -> None:
        """Start a slot for the first sample, which tells whether the sandbox works here."""
        await to_thread.run_sync(_POOLS.open, _resolved(config))

    @classmethod
    async def sample_init(
        cls,
        task_name: str,
        config: SandboxEnvironmentConfigType | None,
        metadata: dict[str, str],
    ) -> dict[str, SandboxEnvironment]:
        """Open a session with an empty workspace."""
        settings = _resolved(config)
        session = await to_thread.run_sync(_POOLS.pool_of(settings).open)
        return {"default": cls(session, settings.limits.run_s)}

    @classmethod
    async def sample_cleanup(
        cls,
        task_name: str,
        config: SandboxEnvironmentConfigType | None,
        environments: dict[str, SandboxEnvironment],
        interrupted: bool,
    ) -> None:
        """End the sessions, and the commands that run in them."""
        for environment in environments.values():
            await to_thread.run_sync(environment.as_type(cls)._session.close)

    @classmethod
    async def task_cleanup(
        cls,
        task_name: str,
        config: SandboxEnvironmentConfigType | None,
        cleanup: bool,  # no sandbox outlives this process, kept or not
    ) -> None:
        """End the slots, with all sessions in them."""
        await to_thread.run_sync(_POOLS.close, _resolved(config))

    @classmethod
    async def cli_cleanup(cls, id: str | None) -> None:
        """Nothing: a sandbox ends with the process that started it."""

    @classmethod
    def default_concurrency(cls) -> int | None:
        """No limit: sessions mostly wait for a model, and one that waits takes a few megabytes."""
        return None

    @classmethod
    def config_deserialize(cls, config: dict[str, Any]) -> BaseModel:
        """The configuration in a log."""
        return SandboxConfig.model_validate(config)


def _carry_out(call: Future[T], function: Callable[[], T]) -> None:
    """Give a call its result, unless it was cancelled."""
    if call.set_running_or_notify_cancel():
        try:
            call.set_result(function())
        except Exception as error:  # for the one who waits
            call.set_exception(error)


def _resolved(config: SandboxEnvironmentConfigType | None) -> SandboxConfig:
    """The configuration that a task names: none, a language's name or YAML file, or the model."""
    if isinstance(config, SandboxConfig):
        return config
    if config is None:
        return SandboxConfig()
    if isinstance(config, str):  # inspect_ai takes it for a file, and makes a path from the root of it
        is_file = config.endswith((".yaml", ".yml"))
        return SandboxConfig(language=config if is_file else PurePath(config).name)
    raise TypeError(f"the sandbox agnostics takes a language or an SandboxConfig, not {type(config).__name__}")


def _may_not_be_executed(result: RunResult, name: str) -> bool:
    """Whether the command itself, rather than one that it ran, could not be started for lack of permission."""
    pattern = _NOT_PERMITTED.format(name=re.escape(name))
    return result.exit_code in {126, 127} and bool(re.fullmatch(pattern, _text(result.stderr)))


def _exit_status(result: RunResult) -> int:
    """The exit status as a shell reports it; a command that was stopped at its memory limit was killed."""
    if result.exit_code is not None:
        return result.exit_code
    return _SIGNALLED + (result.signal or 9)


def _bytes(text: str | bytes) -> bytes:
    """A text as UTF-8; of half of a surrogate pair, which a model may write, the bytes that stand for it."""
    return text.encode(errors="surrogatepass") if isinstance(text, str) else text


def _text(output: bytes) -> str:
    return output.decode(errors="replace")
