"""Spans say which track was busy when, and a trace file of them is complete whenever it is read."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import pytest
from agnostics.profiling.chrome_trace import TraceFile
from agnostics.profiling.spans import Span, SpanRecorder, intersection, total_s, union, utilisation
from hypothesis import given
from hypothesis import strategies as st

INTERVALS = st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50)).map(lambda ends: (min(ends), max(ends))))


def _moments(intervals: list[tuple[float, float]]) -> set[int]:
    return {moment for begin, end in intervals for moment in range(int(begin), int(end))}


@given(INTERVALS)
def test_a_union_covers_the_same_time_once(intervals: list[tuple[float, float]]) -> None:
    joined = union(intervals)
    assert _moments(joined) == _moments(intervals)
    assert total_s(joined) == len(_moments(intervals))
    assert all(end < begin for (_, end), (begin, _) in itertools.pairwise(joined))


@given(INTERVALS, INTERVALS)
def test_an_intersection_is_the_time_that_is_in_both(
    first: list[tuple[float, float]], second: list[tuple[float, float]]
) -> None:
    shared = intersection(union(first), union(second))
    assert _moments(shared) == _moments(first) & _moments(second)
    assert total_s(shared) == len(_moments(shared))


def test_utilisation_says_which_track_was_idle_and_how_much_verification_overlapped() -> None:
    spans = [
        Span("generation", "generate", 0, 4),
        Span("verification", "a", 2, 5),
        Span("verification", "b", 3, 6),
        Span("training", "update 1", 7, 12),  # goes on after the window
    ]
    found = utilisation(spans, (0, 10))
    assert found == pytest.approx(
        {"idle_generation": 0.6, "idle_verification": 0.6, "idle_training": 0.7, "verification_overlap": 0.5}
    )


def test_an_open_span_counts_in_every_window_that_it_lasts_through() -> None:
    recorder = SpanRecorder()
    span = recorder.begin("training", "update 1")
    assert recorder.close_window()[1]["idle_training"] < 1
    recorder.end(span)
    with recorder.during("generation", "generate"):
        pass
    spans, _ = recorder.close_window()
    assert [span.name for span in spans] == ["update 1", "generate"]
    assert recorder.close_window()[0] == []


def _spans(*names: str) -> list[Span]:
    return [Span("verification", name, 1.0, 2.5) for name in names]


def _names(path: Path) -> list[str]:
    events = json.loads(path.read_text())
    return [event["args"]["task"] for event in events if event["ph"] == "b"]


def test_a_trace_is_json_after_every_write_and_is_continued(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    with TraceFile(path) as trace:
        assert _names(path) == []
        trace.add(_spans("a", "b"))
        assert _names(path) == ["a", "b"]
        trace.add([])
        trace.add(_spans('"},\n{"', "d"))
    with TraceFile(path) as trace:
        trace.add(_spans("e"))
    assert _names(path) == ["a", "b", '"},\n{"', "d", "e"]
    begin, end = json.loads(path.read_text())[-2:]
    assert (begin["ph"], end["ph"], end["ts"] - begin["ts"]) == ("b", "e", 1_500_000)
    assert begin["id2"] == end["id2"]
    assert begin["name"] == end["name"] == "verification"  # one track in Perfetto, whatever the task


@pytest.mark.parametrize("cut", range(1, 120, 7))
def test_a_trace_whose_writer_was_killed_is_continued(cut: int, tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    with TraceFile(path) as trace:
        trace.add(_spans("a"))
        trace.add(_spans("b"))
    path.write_bytes(path.read_bytes()[:-cut])
    with TraceFile(path) as trace:
        trace.add(_spans("c"))
    assert _names(path)[0] == "a"
    assert _names(path)[-1] == "c"
