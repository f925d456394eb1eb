"""A timeline tells who worked when, and a trace file of it is whole whenever it is read."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import pytest
from agnostics.profiling.chrome_trace import TraceFile
from agnostics.profiling.spans import Span, Timeline, overlap, shares, total, union
from hypothesis import given
from hypothesis import strategies as st

STRETCHES = st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50)).map(lambda ends: (min(ends), max(ends))))


def _moments(stretches: list[tuple[float, float]]) -> set[int]:
    return {moment for begin, end in stretches for moment in range(int(begin), int(end))}


@given(STRETCHES)
def test_a_union_covers_the_same_time_once(stretches: list[tuple[float, float]]) -> None:
    joined = union(stretches)
    assert _moments(joined) == _moments(stretches)
    assert total(joined) == len(_moments(stretches))
    assert all(end < begin for (_, end), (begin, _) in itertools.pairwise(joined))


@given(STRETCHES, STRETCHES)
def test_an_overlap_is_the_time_that_is_in_both(
    first: list[tuple[float, float]], second: list[tuple[float, float]]
) -> None:
    shared = overlap(union(first), union(second))
    assert _moments(shared) == _moments(first) & _moments(second)
    assert total(shared) == len(_moments(shared))


def test_shares_say_who_stood_idle_and_how_much_of_the_sandbox_was_hidden() -> None:
    spans = [
        Span("generation", "generate", 0, 4),
        Span("verification", "a", 2, 5),
        Span("verification", "b", 3, 6),
        Span("training", "update 1", 7, 12),  # goes on after the window
    ]
    found = shares(spans, (0, 10))
    assert found == pytest.approx(
        {"idle_generation": 0.6, "idle_verification": 0.6, "idle_training": 0.7, "hidden_verification": 0.5}
    )


def test_work_that_goes_on_counts_in_every_window_that_it_spans() -> None:
    timeline = Timeline()
    span = timeline.begin("training", "update 1")
    assert timeline.close_window()[1]["idle_training"] < 1
    timeline.end(span)
    with timeline.during("generation", "generate"):
        pass
    spans, _ = timeline.close_window()
    assert [span.name for span in spans] == ["update 1", "generate"]
    assert timeline.close_window()[0] == []


def _spans(*names: str) -> list[Span]:
    return [Span("verification", name, 1.0, 2.5) for name in names]


def _names(path: Path) -> list[str]:
    events = json.loads(path.read_text())
    return [event["args"]["task"] for event in events if event["ph"] == "b"]


def test_a_trace_is_json_after_every_write_and_goes_on_where_it_was_left(tmp_path: Path) -> None:
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
def test_a_trace_whose_writer_was_killed_is_gone_on_with(cut: int, tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    with TraceFile(path) as trace:
        trace.add(_spans("a"))
        trace.add(_spans("b"))
    path.write_bytes(path.read_bytes()[:-cut])
    with TraceFile(path) as trace:
        trace.add(_spans("c"))
    assert _names(path)[0] == "a"
    assert _names(path)[-1] == "c"
