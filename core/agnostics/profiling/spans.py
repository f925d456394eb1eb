"""Who worked when: generation, verification and training, as spans of time on three tracks."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal, get_args

Track = Literal["generation", "verification", "training"]
Stretch = tuple[float, float]
"""A begin and an end, in seconds."""


@dataclass(eq=False, slots=True)
class Span:
    """A piece of work on a track, in seconds of the monotonic clock; it has no end while it goes on."""

    track: Track
    name: str
    begin_s: float
    end_s: float | None = None

    def within(self, window: Stretch) -> Stretch:
        """The part of it that lies in `window`; of work that goes on, until the window's end."""
        begin, end = window
        return max(begin, self.begin_s), min(end, end if self.end_s is None else self.end_s)


class Timeline:
    """The spans of a run, taken down on any thread, window by window: a training step is one."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: dict[Span, None] = {}
        self._ended: list[Span] = []
        self._window_begin_s = time.monotonic()

    def begin(self, track: Track, name: str) -> Span:
        """Work begins."""
        span = Span(track, name, time.monotonic())
        with self._lock:
            self._open[span] = None
        return span

    def end(self, span: Span) -> None:
        """Work that has begun ends."""
        with self._lock:
            span.end_s = time.monotonic()
            del self._open[span]
            self._ended.append(span)

    @contextmanager
    def during(self, track: Track, name: str) -> Iterator[None]:
        """Work that takes as long as the block."""
        span = self.begin(track, name)
        try:
            yield
        finally:
            self.end(span)

    def close_window(self) -> tuple[list[Span], dict[str, float]]:
        """End a window and begin the next: what ended in it, and its shares (see `shares`)."""
        with self._lock:
            now = time.monotonic()
            window = (self._window_begin_s, now)
            ended, self._ended, self._window_begin_s = self._ended, [], now
            return ended, shares([*ended, *self._open], window)


def shares(spans: Sequence[Span], window: Stretch) -> dict[str, float]:
    """`idle_TRACK`, the share of the window in which nothing went on there; and `hidden_verification`.

    That is the share of the sandbox's time in which answers were generated or learned from as well: 1 where nobody
    waits for a verdict.
    """
    begin, end = window
    busy = {track: union(span.within(window) for span in spans if span.track == track) for track in get_args(Track)}
    idle = {f"idle_{track}": 1 - total(stretches) / max(end - begin, 1e-9) for track, stretches in busy.items()}
    verifying = total(busy["verification"])
    others = union([*busy["generation"], *busy["training"]])
    hidden = total(overlap(busy["verification"], others)) / verifying if verifying else 1.0
    return {**idle, "hidden_verification": hidden}


def union(stretches: Iterable[Stretch]) -> list[Stretch]:
    """The same time without overlaps, in order."""
    joined: list[Stretch] = []
    for begin, end in sorted(stretch for stretch in stretches if stretch[0] < stretch[1]):
        if joined and begin <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((begin, end))
    return joined


def overlap(first: Sequence[Stretch], second: Sequence[Stretch]) -> list[Stretch]:
    """The time in both of two unions."""
    shared, place = list[Stretch](), 0
    for begin, end in first:
        while place < len(second) and second[place][1] <= begin:
            place += 1
        for other_begin, other_end in second[place:]:
            if other_begin >= end:
                break
            shared.append((max(begin, other_begin), min(end, other_end)))
    return shared


def total(stretches: Iterable[Stretch]) -> float:
    """How long stretches are together, in seconds."""
    return sum(end - begin for begin, end in stretches)
