"""Measures of predicted traces: a true trace has all of them, and each corrupted part lowers its own."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from agnostics.traces.cwm_format import ACTION, ARGUMENT, END, FRAME_END, STARTS, TOKEN, Frame, render_frame
from agnostics.traces.measures import trace_measures
from agnostics.traces.prediction import Prediction, read_prediction
from hypothesis import given
from hypothesis import strategies as st
from processor_time import processor_time_limit

MEGABYTE = 1_000_000
FRACTIONS = (
    "valid_trace_format",
    "state_exact_match",
    "action_exact_match",
    "valid_json_format",
    "key_match",
    "key_value_match",
)
TRUE = (
    Frame("line", "    m = n + 1\n", {"n": ".."}),
    Frame("call", "def g(k):\n", {"k": "5"}),
    Frame("line", "    return k\n", {"k": ".."}),
    Frame("return", "    return k\n", value="5"),
    Frame("line", "    return m\n", {"n": "..", "m": "6"}),
    Frame("return", "    return m\n", value="6"),
)
TOKENS = (ACTION, ARGUMENT, FRAME_END, END, *STARTS.values(), "<|trace_context_start|>", "<|begin_of_text|>")
hostile = st.text() | st.lists(st.sampled_from([*TOKENS, "<|", "..", '"', "\\", "{", "}", "```", "\n"])).map("".join)
sources = st.text().filter(lambda text: not TOKEN.search(text))
frames = st.builds(Frame, st.sampled_from(["call", "line"]), sources, st.dictionaries(hostile, hostile)) | st.builds(
    lambda kind, action, value: Frame(kind, action, value=value),
    st.sampled_from(["return", "exception"]),
    sources,
    hostile,
)
traces = st.lists(frames, min_size=1).map(tuple)


def text_of(trace: tuple[Frame, ...]) -> str:
    return "".join(map(render_frame, trace)) + END


def measured(text: str, true: tuple[Frame, ...] = TRUE) -> dict[str, float]:
    return trace_measures(read_prediction(text), true, len)


def lowered(text: str, true: tuple[Frame, ...] = TRUE) -> set[str]:
    found, golden = measured(text, true), measured(text_of(true), true)
    return {name for name in FRACTIONS if name in golden and found[name] < golden[name]}


def changed(place: int, **parts: Any) -> str:
    return text_of((*TRUE[:place], replace(TRUE[place], **parts), *TRUE[place + 1 :]))


@given(traces)
def test_a_true_trace_has_every_measure(trace: tuple[Frame, ...]) -> None:
    prediction = read_prediction(text_of(trace))
    found = trace_measures(prediction, trace, len)
    assert {found[name] for name in FRACTIONS if name in found} == {1.0}
    assert prediction.output == (trace[-1].value if trace[-1].kind == "return" else None)
    has_states = any(frame.value is None for frame in trace)
    assert set(found) == {*FRACTIONS, "state_length", "action_length"} - (
        set() if has_states else {"valid_json_format", "key_match", "key_value_match", "state_length"}
    )


@pytest.mark.parametrize(
    ("text", "measures"),
    [
        (changed(0, action="    m = n\n"), {"action_exact_match"}),
        (changed(0, action="    m = n + 1"), {"action_exact_match"}),
        (changed(0, kind="call"), {"state_exact_match"}),
        (changed(3, kind="exception"), {"state_exact_match"}),
        (changed(3, value="7"), {"state_exact_match"}),
        (changed(4, locals={"n": "..", "m": "7"}), {"key_value_match", "state_exact_match"}),
        (changed(4, locals={"n": "..", "o": "6"}), {"key_match", "key_value_match", "state_exact_match"}),
        (changed(4, locals={"n": ".."}), {"key_match", "key_value_match", "state_exact_match"}),
        (text_of(TRUE).replace(FRAME_END, "", 1), {"valid_trace_format"}),
        (text_of(TRUE).replace(FRAME_END, f"{FRAME_END}\n", 1), {"valid_trace_format"}),
        ("Here it is: " + text_of(TRUE), {"valid_trace_format"}),
        (text_of(TRUE) + " That was it.", {"valid_trace_format"}),
        (
            text_of(TRUE).replace('{"n": ".."}', "{'n': '..'}", 1),
            {"valid_json_format", "key_match", "key_value_match", "state_exact_match"},
        ),
        (
            text_of(TRUE).replace('{"k": "5"}', '{"k": 5}', 1),
            {"valid_json_format", "key_match", "key_value_match", "state_exact_match"},
        ),
    ],
)
def test_each_corrupted_part_lowers_its_own_measure_alone(text: str, measures: set[str]) -> None:
    assert lowered(text) == measures


def test_a_corrupted_last_value_is_a_wrong_output_besides() -> None:
    assert lowered(changed(5, value="7")) == {"state_exact_match"}
    assert read_prediction(changed(5, value="7")).output == "7"
    for other in (changed(5, kind="exception"), text_of(TRUE[:-2]), text_of(TRUE[:-1])):
        assert read_prediction(other).output != "6"


@given(st.data())
def test_a_corrupted_part_of_any_trace_lowers_nothing_else(data: st.DataObject) -> None:
    trace = data.draw(traces)
    place = data.draw(st.integers(0, len(trace) - 1))
    frame, other = trace[place], data.draw(frames)
    if frame.value is None:
        candidates: dict[str, tuple[Any, set[str]]] = {
            "action": (other.action, {"action_exact_match"}),
            "kind": ("line" if frame.kind == "call" else "call", {"state_exact_match"}),
            "locals": ({name: value + "!" for name, value in frame.locals.items()}, {"key_value_match"}),
        }
    else:
        candidates = {
            "action": (other.action, {"action_exact_match"}),
            "kind": ("return" if frame.kind == "exception" else "exception", {"state_exact_match"}),
            "value": (frame.value + "!", {"state_exact_match"}),
        }
    part = data.draw(st.sampled_from(sorted(candidates)))
    value, own = candidates[part]
    wrong = replace(frame, **{part: value})
    expected = set() if wrong == frame else own | ({"state_exact_match"} if part == "locals" else set())
    assert lowered(text_of((*trace[:place], wrong, *trace[place + 1 :])), trace) == expected


def test_fractions_are_of_frames_and_of_names() -> None:
    found = measured(changed(4, locals={"n": "..", "m": "7", "o": "8"}, action="?"))
    assert found == {
        "valid_trace_format": 1.0,
        "state_exact_match": pytest.approx(5 / 6),
        "action_exact_match": pytest.approx(5 / 6),
        "valid_json_format": 1.0,
        "key_match": pytest.approx((1 + 1 + 1 + 2 / 3) / 4),
        "key_value_match": pytest.approx((1 + 1 + 1 + 1 / 3) / 4),
        "state_length": pytest.approx((11 + 10 + 11 + len('{"n": "..", "m": "7", "o": "8"}')) / 4),
        "action_length": pytest.approx((14 + 10 + 13 + 13 + 1 + 13) / 6),
    }


def test_missing_and_additional_frames_are_wrong() -> None:
    short = measured(text_of(TRUE[:3]))
    assert (short["state_exact_match"], short["action_exact_match"]) == (0.5, 0.5)
    assert (short["key_match"], short["valid_json_format"]) == (0.75, 1.0)
    long = measured(text_of((*TRUE, TRUE[0], TRUE[0])))
    assert (long["state_exact_match"], long["action_exact_match"]) == (0.75, 0.75)
    assert long["key_value_match"] == pytest.approx(4 / 6)
    shifted = measured(text_of(TRUE[1:]))
    assert shifted["state_exact_match"] == 0.0
    assert (shifted["valid_trace_format"], shifted["valid_json_format"]) == (1.0, 1.0)


def test_nothing_predicted_is_nothing_right() -> None:
    for text in ("", "I cannot say.", END, ARGUMENT):
        assert measured(text) == {
            "valid_trace_format": 0.0,
            "state_exact_match": 0.0,
            "action_exact_match": 0.0,
            "key_match": 0.0,
            "key_value_match": 0.0,
        }


def test_what_a_prompt_gives_may_be_repeated_and_a_code_block_put_around() -> None:
    first = (Frame("call", "def f(n):\n", {"n": "5"}),)
    for text in (text_of(TRUE), text_of((*first, *TRUE)), f"```\n{text_of(TRUE)}\n```"):
        prediction = read_prediction(text).after(first)
        assert prediction == Prediction(read_prediction(text_of(TRUE)).frames, is_valid=True)
    other = read_prediction(text_of((replace(first[0], locals={"n": "6"}), *TRUE)))
    assert other.after(first) is other


def test_a_completion_may_go_on_in_the_frame_that_the_prompt_begins() -> None:
    text = text_of(TRUE)
    assert read_prediction(text.removeprefix(STARTS["line"])) == read_prediction(text)
    returned = text_of(TRUE[-1:])
    assert read_prediction(returned.removeprefix(STARTS["return"]), "return") == read_prediction(returned)


@given(hostile)
def test_whatever_a_model_writes_is_measured(text: str) -> None:
    found = measured(text)
    assert all(0.0 <= found[name] <= 1.0 for name in FRACTIONS if name in found)
    assert read_prediction(text).output is None or isinstance(read_prediction(text).output, str)


@pytest.mark.parametrize(
    "unit",
    [
        "<|line_sep|>",
        "<|line_sep|>{",
        '<|line_sep|>{"a": "b"}<|action_sep|>x\n<|frame_sep|>',
        "<|action_sep|>",
        "<|frame_sep|>",
        "```\n",
        "[" * 5000,
        '{"a":' * 1000,
        "<|",
        " \n",
        "-" * 10,
    ],
)
def test_the_time_is_linear_in_a_hostile_text(unit: str) -> None:
    text = "<|line_sep|>" + unit * (MEGABYTE // len(unit))
    with processor_time_limit(20):
        measured(text)
        measured("```\n" + text)


def test_json_is_read_as_python_reads_it() -> None:
    for name in ("é", "\ud800", "<|line_sep|>", '"'):
        frame = Frame("line", "x\n", {name: name})
        assert measured(text_of((frame,)), (frame,))["state_exact_match"] == 1.0
    written = json.dumps({"b": "1", "a": "2"})
    found = measured(f"<|line_sep|>{written}{ACTION}x\n{FRAME_END}", (Frame("line", "x\n", {"a": "2", "b": "1"}),))
    assert found["state_exact_match"] == 1.0
