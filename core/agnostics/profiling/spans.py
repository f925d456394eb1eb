"""Spans of work on three tracks: generation, verification and training."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal, get_args

Track = Literal["generation", "verification", "training"]
Interval = tuple[float, float]
"""A start and an end, in seconds."""


@dataclass(eq=False, slots=True)
class Span:
    """A piece of work on a track, in seconds of the monotonic clock; `end_s` is None until it ends."""

    track: Track
    name: str
    begin_s: float
    end_s: float | None = None

    def within(self, window: Interval) -> Interval:
        """Its part inside `window`; an open span lasts to the window's end."""
        begin, end = window
        return max(begin, self.begin_s), min(end, end if self.end_s is None else self.end_s)


class SpanRecorder:
    """Records the spans of a run, on any thread. They are read window by window: a training step is a window."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: dict[Span, None] = {}
        self._ended: list[Span] = []
        self._window_begin_s = time.monotonic()

    def begin(self, track: Track, name: str) -> Span:
        """Open a span."""
        span = Span(track, name, time.monotonic())
        with self._lock:
            self._open[span] = None
        return span

    def end(self, span: Span) -> None:
        """Close a span."""
        with self._lock:
            span.end_s = time.monotonic()
            del self._open[span]
            self._ended.append(span)

    @contextmanager
    def during(self, track: Track, name: str) -> Iterator[None]:
        """A span around the block."""
        span = self.begin(track, name)
        try:
            yield
        finally:
            self.end(span)

    def close_window(self) -> tuple[list[Span], dict[str, float]]:
        """Close a window and open the next: the spans that ended in it, and its utilisation (see `utilisation`)."""
        with self._lock:
            now = time.monotonic()
            window = (self._window_begin_s, now)
            ended, self._ended, self._window_begin_s = self._ended, [], now
            return ended, utilisation([*ended, *self._open], window)


def utilisation(spans: Sequence[Span], window: Interval) -> dict[str, float]:
    """`idle_TRACK`, the share of the window without work on that track; and `verification_overlap`.

    `verification_overlap` is the share of the sandbox's busy time that overlaps with generation or training: 1 if
    nothing waits for a verdict.
    """
    begin, end = window
    busy = {track: union(span.within(window) for span in spans if span.track == track) for track in get_args(Track)}
    idle = {f"idle_{track}": 1 - total_s(intervals) / max(end - begin, 1e-9) for track, intervals in busy.items()}
    verifying = total_s(busy["verification"])
    others = union([*busy["generation"], *busy["training"]])
    overlapped = total_s(intersection(busy["verification"], others)) / verifying if verifying else 1.0
    return {**idle, "verification_overlap": overlapped}


def union(intervals: Iterable[Interval]) -> list[Interval]:
    """The union of intervals, in order."""
    joined: list[Interval] = []
    for begin, end in sorted(interval for interval in intervals if interval[0] < interval[1]):
        if joined and begin <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((begin, end))
    return joined


def intersection(first: Sequence[Interval], second: Sequence[Interval]) -> list[Interval]:
    """The intersection of two unions."""
    shared, place = list[Interval](), 0
    for begin, end in first:
        while place < len(second) and second[place][1] <= begin:
            place += 1
        for other_begin, other_end in second[place:]:
            if other_begin >= end:
                break
            shared.append((max(begin, other_begin), min(end, other_end)))
    return shared


def total_s(intervals: Iterable[Interval]) -> float:
    """The length of all intervals together, in seconds."""
    return sum(end - begin for begin, end in intervals)
