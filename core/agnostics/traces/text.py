"""A trace as text for people: a line for each event."""

from __future__ import annotations

from collections.abc import Iterator

from agnostics.traces.events import Trace, TraceEvent


def text_lines(trace: Trace) -> Iterator[str]:
    """The events with their lines in the program, indented by their scopes, and what changed before each."""
    for event in trace.events:
        yield from _event_lines(event)
    yield f"ended: {trace.ended}"


def _event_lines(event: TraceEvent) -> Iterator[str]:
    indent = "  " * event.depth
    yield from (f"{'':6}{indent}  {name} = {_on_one_line(value)}" for name, value in event.changed.items())
    yield from (f"{'':6}{indent}  {name} is gone" for name in event.gone)
    value = "" if event.value is None else f"  → {_on_one_line(event.value)}"
    yield f"{event.line:>5} {indent}{event.kind:<9} {_on_one_line(event.source.strip())}{value}"


def _on_one_line(text: str) -> str:
    return " ".join(text.splitlines())
