"""Traces of many programs, several at once, into a file that grows in their order and survives being killed."""

from __future__ import annotations

import hashlib
import os
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import msgspec

from agnostics.traces.records import TraceRecord, TraceRequest, read_records, record_of, to_line
from agnostics.traces.runner import TraceRunner
from agnostics.types.errors import AgnosticsError, UsageError
from agnostics.types.verification import Verdict
from agnostics.util.locks import file_lock
from agnostics.util.paths import cache_folder

_AHEAD = 4
"""Programs that are traced or wait for it, for each that is traced at once."""
Write = Callable[[Iterable[TraceRecord], BinaryIO], None]


class PartialFile:
    """The traces that are there so far, in FILE.partial, which becomes FILE when all are. See `open_partial`."""

    def __init__(self, path: Path, target: Path) -> None:
        self._path, self._target = path, target
        self._left = Counter(_keys(path))
        self._file = path.open("ab", buffering=0)

    def close(self) -> None:
        """Close the file; what is in it stays."""
        self._file.close()

    def has(self, key: str) -> bool:
        """Whether a trace with this key is there from before that was not asked for yet."""
        is_there = self._left[key] > 0
        self._left[key] -= is_there
        return is_there

    def add(self, record: TraceRecord) -> None:
        """Append a record: whole, or not at all if the process is killed."""
        line = memoryview(to_line(record))
        while line:
            line = line[self._file.write(line) :]

    def finish(self, write: Write | None) -> None:
        """Make it the target, as `write` does if that is no JSON Lines.

        Raises AgnosticsError if it has traces of other programs, or with other limits.
        """
        if left := self._left.total():
            raise AgnosticsError(
                f"{self._path} has {left} traces of other programs or with other limits; "
                "name another file, or begin anew with --force"
            )
        if write is None:
            self._path.replace(self._target)
            return
        converted = self._path.with_suffix(".converted")
        with converted.open("wb") as file:
            write(read_records(self._path), file)
        converted.replace(self._target)
        self._path.unlink()


@contextmanager
def open_partial(target: Path, *, anew: bool) -> Iterator[PartialFile]:
    """The partial file for `target`; `anew` removes what is there of an earlier attempt.

    Raises UsageError if another process writes it.
    """
    path = target.with_name(f"{target.name}.partial")
    name = hashlib.sha256(os.fsencode(path.resolve())).hexdigest()
    with file_lock(cache_folder() / "traces" / f"{name}.lock") as is_ours:
        if not is_ours:
            raise UsageError(f"{path}: another process writes it; wait for it, or name another file")
        if anew:
            path.unlink(missing_ok=True)
        partial = PartialFile(path, target)
        try:
            yield partial
        finally:
            partial.close()


def make_traces(
    requests: Iterable[TraceRequest],
    runner: TraceRunner,
    partial: PartialFile,
    at_once: int,
    on_record: Callable[[TraceRecord | None], None],
) -> int:
    """Trace the programs that are not in `partial` yet, `at_once` at a time, and append them in their order.

    `on_record` gets each record, None for one that was there. Returns the number of those of which the sandbox failed,
    which are not written.
    """
    failed = 0
    with ThreadPoolExecutor(at_once, thread_name_prefix="agnostics-trace") as threads:
        begun: deque[Future[TraceRecord]] = deque()

        def end_first() -> None:
            nonlocal failed
            record = begun.popleft().result()
            if record.verdict == Verdict.SANDBOX_ERROR:
                failed += 1
            else:
                partial.add(record)
            on_record(record)

        try:
            for request in requests:
                key = request.key(runner.language, runner.trace_limits)
                if partial.has(key):
                    on_record(None)
                    continue
                begun.append(threads.submit(_traced, runner, request, key))
                if len(begun) >= _AHEAD * at_once:
                    end_first()
            while begun:
                end_first()
        except BaseException:
            for future in begun:
                future.cancel()
            runner.close()
            raise
    return failed


def _traced(runner: TraceRunner, request: TraceRequest, key: str) -> TraceRecord:
    return record_of(request, key, runner.language, runner.run(request.program, request.input))


class _Key(msgspec.Struct):
    key: str


def _keys(path: Path) -> Iterator[str]:
    """The keys in a partial file, of which a last line that is not whole is removed first."""
    if not path.exists():
        return
    decoder, whole = msgspec.json.Decoder(_Key), 0
    with path.open("rb") as file:
        for line in file:
            if not line.endswith(b"\n"):
                break
            whole += len(line)
            try:
                yield decoder.decode(line).key
            except msgspec.DecodeError as error:
                raise UsageError(f"{path} is no file of traces ({error}); begin anew with --force") from error
    os.truncate(path, whole)
