"""A file in Chrome's Trace Event Format, which Perfetto (ui.perfetto.dev) and chrome://tracing open."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Self

from agnostics.profiling.spans import Span
from agnostics.types.errors import AgnosticsError

_HEAD, _TAIL = b"[\n", b"\n]\n"
_PROCESS = 1
_THREADS = {"generation": 2, "training": 3}
"""Tracks whose spans do not overlap."""


class TraceFile:
    """A JSON array in Chrome's Trace Event Format, complete after every write. A context manager.

    An existing file is continued; a line that was truncated when its writer was killed is removed.
    Raises AgnosticsError if it cannot be written.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._numbers = 0
        # The monotonic clock's zero in calendar time, so that a resumed run continues after its earlier part.
        self._zero_us = round((time.time() - time.monotonic()) * 1e6)
        try:
            self._file = path.open("r+b" if path.exists() else "w+b")
            self._end = _end_of_last_event(self._file.read())
        except OSError as error:
            raise self._failure(error) from error
        if not self._end:
            self._write(_names(path.parent.name))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def add(self, spans: Iterable[Span]) -> None:
        """Write spans that have ended."""
        self._write(event for span in spans for event in self._events(span))

    def _events(self, span: Span) -> Iterator[dict[str, Any]]:
        """One event for each span; a begin and an end event on a track whose spans overlap."""
        begin = self._zero_us + round(span.begin_s * 1e6)
        end = self._zero_us + round((span.end_s or span.begin_s) * 1e6)
        common = {"cat": span.track, "pid": _PROCESS}
        if thread := _THREADS.get(span.track):
            yield {**common, "tid": thread, "name": span.name, "ph": "X", "ts": begin, "dur": end - begin}
            return
        self._numbers += 1
        # Perfetto draws a track for each name, and puts one with a local id under its process.
        one = {**common, "name": span.track, "id2": {"local": f"{begin}-{self._numbers}"}}
        yield {**one, "ph": "b", "ts": begin, "args": {"task": span.name}}
        yield {**one, "ph": "e", "ts": end}

    def _write(self, events: Iterable[dict[str, Any]]) -> None:
        text = b",\n".join(json.dumps(event).encode() for event in events)
        if not text:
            return
        text = (b",\n" if self._end else _HEAD) + text
        try:
            self._file.seek(self._end)
            self._file.write(text + _TAIL)
            self._file.truncate()
            self._file.flush()
        except OSError as error:
            raise self._failure(error) from error
        self._end += len(text)

    def _failure(self, error: OSError) -> AgnosticsError:
        return AgnosticsError(f"{self._path}: {error.strerror}; make room there, then: agn run --resume")


def _end_of_last_event(text: bytes) -> int:
    """The offset after the last complete event: each has a line of its own. 0 if there is none."""
    return max(text.rfind(b"},\n"), text.rfind(b"}\n")) + 1


def _names(run: str) -> Iterator[dict[str, Any]]:
    """The names of the run and its tracks in Perfetto."""
    yield {"name": "process_name", "ph": "M", "pid": _PROCESS, "args": {"name": run}}
    for track, thread in _THREADS.items():
        yield {"name": "thread_name", "ph": "M", "pid": _PROCESS, "tid": thread, "args": {"name": track}}
