"""A run's timeline as a file that Perfetto (ui.perfetto.dev) and chrome://tracing open."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Self

from agnostics.errors import AgnosticsError
from agnostics.train.timeline import Span

_HEAD, _TAIL = b"[\n", b"\n]\n"
_THREADS = {"generation": 1, "verification": 2, "training": 3}


class TraceFile:
    """A JSON array in Chrome's Trace Event Format, whole after every write. A context manager.

    Where the file is there it is gone on with; a line that was cut short when its writer was killed is cut off.
    Raises AgnosticsError where it cannot be written.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._numbers = 0
        # The monotonic clock's zero on the calendar, so that a run which is resumed goes on later than it stopped.
        self._zero_us = round((time.time() - time.monotonic()) * 1e6)
        try:
            self._file = path.open("r+b" if path.exists() else "w+b")
            self._end = _end_of_last_event(self._file.read())
        except OSError as error:
            raise self._failure(error) from error
        if not self._end:
            self._write(map(_thread_name, _THREADS))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self._file.close()

    def add(self, spans: Iterable[Span]) -> None:
        """Write down spans that have ended."""
        self._write(event for span in spans for event in self._events(span))

    def _events(self, span: Span) -> Iterator[dict[str, Any]]:
        """One event for each span; a begin and an end where those of one track overlap."""
        common = {"name": span.name, "cat": span.track, "pid": 1, "tid": _THREADS[span.track]}
        begin = self._zero_us + round(span.begin_s * 1e6)
        end = self._zero_us + round((span.end_s or span.begin_s) * 1e6)
        if span.track != "verification":
            yield {**common, "ph": "X", "ts": begin, "dur": end - begin}
            return
        self._numbers += 1
        number = f"{begin}-{self._numbers}"
        yield {**common, "ph": "b", "id": number, "ts": begin}
        yield {**common, "ph": "e", "id": number, "ts": end}

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
    """Where the last whole event ends: each has a line of its own. 0 where there is none."""
    return max(text.rfind(b"},\n"), text.rfind(b"}\n")) + 1


def _thread_name(track: str) -> dict[str, Any]:
    return {"name": "thread_name", "ph": "M", "pid": 1, "tid": _THREADS[track], "args": {"name": track}}
