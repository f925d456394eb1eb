"""The lines that tracers write, as events. What a program may have written is believed in nothing (docs/traces.md)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Annotated

import msgspec

from agnostics.traces.events import KILLED, MODULE, Kind, Trace, TraceEvent, source_lines
from agnostics.traces.limits import TraceLimits
from agnostics.types.errors import AgnosticsError

_MARKER = re.compile(r"\s*# << START_OF_TRACE\s*$")
_UNCHANGED = ".."
_CUT_MARK = "…"
_ENDS = frozenset({"complete", "events", "bytes", "depth", "removed"})


class TraceError(AgnosticsError):
    """A line in the file of a trace is none that a tracer writes."""


_Natural = Annotated[int, msgspec.Meta(ge=0, le=2**31)]


class _Line(msgspec.Struct, forbid_unknown_fields=True):
    """A line of the file; the last one has `end` alone."""

    e: Kind | None = None
    l: _Natural = 0  # noqa: E741
    d: _Natural = 0
    f: str | None = None
    s: str | None = None
    v: dict[str, str] = {}
    g: list[str] = []
    c: list[str] = []
    r: str | None = None
    end: str | None = None


_DECODER = msgspec.json.Decoder(_Line)


def read_trace(program: str, data: bytes, limits: TraceLimits) -> Trace:
    """The trace of `program` in what its tracer wrote; a last line that is not whole does not count.

    Raises TraceError, with the number of the line, if one is not as a tracer with these limits writes it, or if there
    are more bytes than it writes.
    """
    data = data.rstrip(b"\0")
    if len(data) > limits.bytes:
        raise TraceError(f"the trace has {len(data)} bytes, of a tracer at most {limits.bytes}")
    reader = _Reader(program, limits)
    lines = data.split(b"\n", limits.events + 2)[:-1]  # one more than there may be tells that there are too many
    events = tuple(reader.events(lines))
    return Trace(program, events, reader.ended)


class _Reader:
    def __init__(self, program: str, limits: TraceLimits) -> None:
        self._sources = [_MARKER.sub("", line) for line in source_lines(program)]
        self._limits = limits
        self._names: list[str] = []
        """The names of the scopes that are open, the outermost first."""
        self.ended = KILLED

    def events(self, lines: list[bytes]) -> Iterator[TraceEvent]:
        for number, text in enumerate(lines, 1):
            try:
                line = _DECODER.decode(text)
                if line.end is None:
                    yield self._event(line, number)
                    continue
                self._end(line, is_last=number == len(lines))
            except (msgspec.DecodeError, UnicodeError, RecursionError, ValueError) as error:
                raise TraceError(f"line {number} of the trace is none of a tracer: {error}") from error

    def _end(self, line: _Line, *, is_last: bool) -> None:
        if line.end not in _ENDS or not is_last:
            raise ValueError("a last line is last, and names the end")
        self.ended = line.end

    def _event(self, line: _Line, number: int) -> TraceEvent:
        self._check(line, number)
        assert line.e is not None
        return TraceEvent(
            kind=line.e,
            line=line.l,
            depth=line.d,
            name=self._scope(line),
            source=self._sources[line.l - 1] if line.s is None else line.s,
            changed=line.v,
            gone=tuple(line.g),
            value=line.r,
            cut=tuple(line.c),
        )

    def _scope(self, line: _Line) -> str:
        """The name of the scope of an event, which a call opens."""
        del self._names[line.d + (line.e != "call") :]
        self._names += [MODULE] * (line.d - len(self._names))
        if len(self._names) == line.d:
            self._names.append(MODULE if line.f is None else line.f)
        return self._names[line.d]

    def _check(self, line: _Line, number: int) -> None:
        limits, has_value = self._limits, line.e in ("return", "exception")
        texts = [*line.v.values(), *filter(None, [line.r])]
        if line.e is None or (line.r is not None and not has_value) or (has_value and (line.v or line.g)):
            raise ValueError("an event has a kind and what belongs to it")
        if number > limits.events or line.d > limits.depth:
            raise ValueError("there are more events, or deeper ones, than there may be")
        if not 1 <= line.l <= len(self._sources):
            raise ValueError(f"the program has no line {line.l}")
        if any(len(text) > limits.value + 1 for text in texts) or _UNCHANGED in line.v.values():
            raise ValueError("a value is longer than it may be")
        if any(not self._text_of(line, name).endswith(_CUT_MARK) for name in line.c):
            raise ValueError("what was cut does not end so")

    @staticmethod
    def _text_of(line: _Line, name: str) -> str:
        return line.r or "" if line.r is not None and name == "value" else line.v.get(name, "")
