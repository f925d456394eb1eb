"""Traces: what tracers write is read with suspicion, and the text of the Code World Model is written and read."""

from __future__ import annotations

import json
import tracemalloc

import pytest
from agnostics.traces.cwm_format import (
    UNCHANGED,
    CwmTrace,
    FormatError,
    Frame,
    frames_of,
    parse_text,
    render_text,
    render_trace,
)
from agnostics.traces.events import Trace, TraceEvent, scope_locals, source_lines
from agnostics.traces.limits import TraceLimits
from agnostics.traces.wire import TraceError, read_trace
from hypothesis import given
from hypothesis import strategies as st

PROGRAM = "def f(n):  # << START_OF_TRACE\n    m = n + 1\n    return m\n"
LINES = (
    '{"e":"call","l":1,"d":0,"f":"f","v":{"n":"5"}}\n'
    '{"e":"line","l":2,"d":0}\n'
    '{"e":"line","l":3,"d":0,"v":{"m":"6"}}\n'
    '{"e":"return","l":3,"d":0,"r":"6"}\n'
    '{"end":"complete"}\n'
)
TEXT = (
    "<|trace_context_start|>def f(n):  # << START_OF_TRACE\n    m = n + 1\n    return m\n<|frame_sep|>"
    '<|call_sep|>{"n": "5"}<|action_sep|>def f(n):\n<|frame_sep|>'
    '<|line_sep|>{"n": ".."}<|action_sep|>    m = n + 1\n<|frame_sep|>'
    '<|line_sep|>{"n": "..", "m": "6"}<|action_sep|>    return m\n<|frame_sep|>'
    '<|return_sep|><|action_sep|>    return m\n<|arg_sep|>"6"<|frame_sep|>'
    "<|end_of_text|>"
)
"""As in PROMPTING_GUIDE.md of the Code World Model's repository."""
NAMES = ("frame_sep", "action_sep", "return_sep", "call_sep", "line_sep", "exception_sep", "arg_sep")
TOKENS = tuple(f"<|{name}|>" for name in (*NAMES, "trace_context_start", "begin_of_text", "end_of_text"))
hostile = st.text() | st.lists(st.sampled_from([*TOKENS, "<|", "..", '"', "\\", "a"])).map("".join)
sources = st.text().filter(lambda text: not any(token in text for token in TOKENS))
states = st.builds(
    Frame, st.sampled_from(["call", "line"]), sources, st.dictionaries(hostile, hostile | st.just(UNCHANGED))
)
values = st.builds(
    lambda kind, action, value: Frame(kind, action, value=value),
    st.sampled_from(["return", "exception"]),
    sources,
    hostile,
)
traces = st.builds(CwmTrace, sources, st.lists(states | values).map(tuple), st.booleans())


def read(lines: str, program: str = PROGRAM, **limits: int) -> Trace:
    return read_trace(program, lines.encode(), TraceLimits(**limits))


def test_a_trace_is_rendered_as_the_paper_has_it() -> None:
    assert render_trace(read(LINES)) == TEXT


@given(traces)
def test_what_is_rendered_is_parsed_to_the_same_trace(trace: CwmTrace) -> None:
    assert parse_text(render_text(trace)) == trace


pieces = st.sampled_from([*TOKENS, "{}", '{"a": "1"}', '"x"', "x", "\n"])


@given(traces.map(render_text) | st.lists(pieces).map("".join), st.integers(0, 300), pieces | st.just(""))
def test_what_is_parsed_is_rendered_to_the_same_text(text: str, place: int, inserted: str) -> None:
    text = text[:place] + inserted + text[place:]
    try:
        trace = parse_text(text)
    except FormatError:
        return
    assert render_text(trace) == text


@pytest.mark.parametrize("token", TOKENS)
def test_a_program_with_a_token_of_the_format_is_not_rendered(token: str) -> None:
    with pytest.raises(FormatError, match="a token of the format"):
        render_text(CwmTrace(f"print('{token}')", ()))


def test_a_value_with_a_token_of_the_format_is_rendered_so_that_it_is_none() -> None:
    text = render_text(CwmTrace("", (Frame("line", "x\n", {"a": "<|frame_sep|>"}),)))
    assert text.count("<|frame_sep|>") == 2
    assert parse_text(text).frames[0].locals == {"a": "<|frame_sep|>"}


@pytest.mark.parametrize(
    "text", ["", TEXT[1:], TEXT + "x", TEXT.replace('"m": "6"', '"m": 6'), TEXT.replace('"n": ".."', '"n":".."')]
)
def test_a_text_that_is_no_trace_is_an_error_with_its_place(text: str) -> None:
    with pytest.raises(FormatError, match=r"at character [0-9]+"):
        parse_text(text)


def test_a_recursive_function_has_the_locals_of_each_scope() -> None:
    program = "def f(n):\n    f(n - 1) if n else 0\nf(1)"
    lines = (
        '{"e":"call","l":1,"d":1,"f":"f","v":{"n":"1"}}\n{"e":"line","l":2,"d":1}\n'
        '{"e":"call","l":1,"d":2,"f":"f","v":{"n":"0"}}\n{"e":"return","l":2,"d":2,"r":"None"}\n'
        '{"e":"line","l":2,"d":1,"v":{"k":"1"},"g":["n"]}\n{"e":"line","l":3,"d":0}\n'
    )
    trace = read(lines, program)
    assert list(scope_locals(trace.events)) == [{"n": "1"}, {"n": "1"}, {"n": "0"}, {"n": "0"}, {"k": "1"}, {}]
    assert [event.name for event in trace.events] == ["f", "f", "f", "f", "f", "<module>"]
    assert trace.ended == "killed"
    assert dict(list(frames_of(trace))[4].locals) == {"k": "1"}


def test_a_file_that_no_tracer_writes_takes_no_more_memory_than_its_own() -> None:
    with pytest.raises(TraceError, match="the trace has 1001 bytes"):
        read("\n" * 1001, bytes=1000)
    short = b'{"e":"line","l":1,"d":0}\n' + b"\n" * 10_000_000
    tracemalloc.start()
    try:
        with pytest.raises(TraceError, match="line 2 of the trace"):
            read_trace(PROGRAM, short, TraceLimits())
        assert tracemalloc.get_traced_memory()[1] < 2 * len(short)
    finally:
        tracemalloc.stop()


def test_lines_are_counted_as_python_counts_them() -> None:
    assert source_lines("a\r\nb\rc\n\fd\x0be\x85") == ["a", "b", "c", "\fd\x0be\x85"]


@pytest.mark.parametrize(
    "line",
    [
        "null",
        "[]",
        "{}",
        "[" * 100_000,
        '{"e":"line","l":9,"d":0}',
        '{"e":"line","l":0,"d":0}',
        '{"e":"line","l":1,"d":11}',
        '{"e":"line","l":1,"d":-1}',
        '{"e":"line","l":1e3,"d":0}',
        '{"e":"jump","l":1,"d":0}',
        '{"e":"return","l":1,"d":0,"v":{"a":"1"}}',
        '{"e":"line","l":1,"d":0,"r":"1"}',
        '{"e":"line","l":1,"d":0,"v":{"a":1}}',
        '{"e":"line","l":1,"d":0,"v":{"a":".."}}',
        '{"e":"line","l":1,"d":0,"v":{"a":"%s"}}' % ("x" * 52),
        '{"e":"line","l":1,"d":0,"v":{"a":"x"},"c":["a"]}',
        '{"e":"line","l":1,"d":0,"c":["value"]}',
        '{"e":"line","l":1,"d":0,"x":1}',
        '{"e":"line","l":1,"d":0,"v":{"a":"\udcff"}}',
        '{"end":"well"}',
        '{"end":"complete"}\n{"e":"line","l":1,"d":0}',
    ],
)
def test_a_line_that_no_tracer_writes_is_an_error_with_its_number(line: str) -> None:
    data = f'{{"e":"line","l":1,"d":0}}\n{line}\n'.encode(errors="surrogateescape")
    with pytest.raises(TraceError, match="line 2 of the trace"):
        read_trace(PROGRAM, data, TraceLimits(value=50, depth=10))


def test_a_return_may_have_no_value() -> None:
    trace = read('{"e":"return","l":1,"d":0}\n{"end":"complete"}\n')
    assert (trace.events[0].value, trace.is_complete) == (None, True)
    assert [frame.value for frame in frames_of(trace)] == [""]


def test_more_events_than_the_limit_are_an_error() -> None:
    with pytest.raises(TraceError, match="line 4 of the trace"):
        read(LINES, events=3)


def test_a_last_line_that_is_not_whole_does_not_count() -> None:
    trace = read(LINES[: LINES.index('{"e":"return"') + 20] + "\0" * 100)
    assert len(trace.events) == 3
    assert trace.ended == "killed"


@given(st.lists(st.binary() | st.sampled_from([line.encode() for line in LINES.splitlines()])).map(b"\n".join))
def test_no_bytes_are_anything_but_a_trace_or_an_error(data: bytes) -> None:
    try:
        trace = read_trace(PROGRAM, data, TraceLimits())
    except TraceError:
        return
    assert all(isinstance(event, TraceEvent) for event in trace.events)


def test_cut_values_are_named() -> None:
    cut = json.dumps("x" * 10 + "…")
    trace = read(
        f'{{"e":"line","l":1,"d":0,"v":{{"a":{cut}}},"c":["a"]}}\n{{"e":"return","l":1,"d":0,"r":{cut},"c":["value"]}}\n'
    )
    assert [event.cut for event in trace.events] == [("a",), ("value",)]
