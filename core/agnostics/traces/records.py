"""Traces in files: one record for each program and input."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import msgspec

from agnostics.traces.events import Kind, Trace, TraceEvent
from agnostics.traces.limits import TraceLimits
from agnostics.traces.runner import TracedRun
from agnostics.types.errors import MissingRequirement, UsageError

_BATCH = 100


@dataclass(frozen=True, slots=True)
class TraceRequest:
    """A program to trace on an input; `id` names it in messages and in the record."""

    id: str
    program: str
    input: str = ""

    def key(self, language: str, limits: TraceLimits) -> str:
        """The digest of what the trace depends on: equal keys are the same work."""
        parts = [language, limits.model_dump(), asdict(self)]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:32]


@dataclass(frozen=True, slots=True)
class TraceRecord:
    """A line of a file of traces. `events` is a JSON array, None if there is no trace, for the reason in `error`.

    `verdict` says how the program ended: `accepted` with exit status 0, whatever it printed.
    """

    key: str
    id: str
    language: str
    program: str
    input: str
    verdict: str
    exit_code: int | None
    stdout: str
    stderr: str
    ended: str | None
    error: str
    events: str | None

    def trace(self) -> Trace | None:
        """The trace, None if there is none. Raises ValueError if `events` is not what `record_of` writes."""
        if self.events is None:
            return None
        events = tuple(_event(line) for line in _DECODER.decode(self.events))
        return Trace(self.program, events, str(self.ended))


def record_of(request: TraceRequest, key: str, language: str, run: TracedRun) -> TraceRecord:
    """The record of a program that was run."""
    return TraceRecord(
        key=key,
        id=request.id,
        language=language,
        program=request.program,
        input=request.input,
        verdict=str(run.verdict),
        exit_code=run.exit_code,
        stdout=run.stdout.decode(errors="replace"),
        stderr=run.stderr.decode(errors="replace"),
        ended=run.trace.ended if run.trace else None,
        error=run.error,
        events=_events_text(run.trace) if run.trace else None,
    )


def to_line(record: TraceRecord) -> bytes:
    """The record as a line of JSON; its events are an array there."""
    values: dict[str, Any] = asdict(record)
    if record.events is not None:
        values["events"] = msgspec.Raw(record.events.encode())
    return msgspec.json.encode(values) + b"\n"


def read_records(path: Path) -> Iterator[TraceRecord]:
    """The records of a file, JSON Lines or Parquet. Raises UsageError, with the line, if it is no file of traces."""
    rows = _parquet_rows(path) if path.suffix == ".parquet" else _json_rows(path)
    for number, row in enumerate(rows, 1):
        try:
            record = msgspec.convert(row, TraceRecord)
            record.trace()
        except ValueError as error:
            raise UsageError(f"{path}:{number}: no record of a trace: {error}") from error
        yield record


def _json_rows(path: Path) -> Iterator[dict[str, Any]]:
    with path.open("rb") as file:
        for line in file:
            try:
                row = msgspec.json.decode(line, type=dict[str, msgspec.Raw])
            except (msgspec.DecodeError, UnicodeDecodeError):
                yield {}
                continue
            events = bytes(row.pop("events", msgspec.Raw(b"null"))).decode()
            yield {
                **{name: msgspec.json.decode(value) for name, value in row.items()},
                "events": None if events == "null" else events,
            }


def _parquet_rows(path: Path) -> Iterator[dict[str, Any]]:
    try:
        from pyarrow import parquet
    except ModuleNotFoundError as error:
        raise MissingRequirement(f"{error.name} is not installed; run: pip install 'agnostics[frames]'") from error
    with parquet.ParquetFile(path) as file:
        for batch in file.iter_batches(_BATCH):
            yield from batch.to_pylist()


class _Event(msgspec.Struct, omit_defaults=True, forbid_unknown_fields=True):
    """A trace event in a file."""

    kind: Kind
    line: int
    depth: int
    name: str
    source: str
    changed: dict[str, str] = {}
    gone: list[str] = []
    value: str | None = None
    cut: list[str] = []


_ENCODER = msgspec.json.Encoder()
_DECODER = msgspec.json.Decoder(list[_Event])


def _events_text(trace: Trace) -> str:
    return _ENCODER.encode([_struct(event) for event in trace.events]).decode()


def _struct(event: TraceEvent) -> _Event:
    place = (event.kind, event.line, event.depth, event.name, event.source)
    return _Event(*place, dict(event.changed), list(event.gone), event.value, list(event.cut))


def _event(line: _Event) -> TraceEvent:
    place = (line.kind, line.line, line.depth, line.name, line.source)
    return TraceEvent(*place, line.changed, tuple(line.gone), line.value, tuple(line.cut))


def read_requests(lines: Iterable[bytes], name: str) -> Iterator[TraceRequest]:
    """The programs in JSON Lines with the keys `program`, and optionally `input` and `id`, which is the line's number
    if it is not given. Raises UsageError, with the line, for one that is no such object.
    """
    for number, line in enumerate(lines, 1):
        try:
            row = _REQUESTS.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise UsageError(f"{name}:{number}: {error}") from error
        yield TraceRequest(row.id or str(number), row.program, row.input)


class _Request(msgspec.Struct):
    program: str
    input: str = ""
    id: str | None = None


_REQUESTS = msgspec.json.Decoder(_Request)
