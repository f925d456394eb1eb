"""Measures of a predicted trace: Table 9 of the Code World Model's paper (section 7.3)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest
from statistics import fmean
from typing import Any

from agnostics.traces.cwm_format import Frame
from agnostics.traces.prediction import PredictedFrame, Prediction, has_observation, locals_in

_Pair = tuple[PredictedFrame | None, Frame | None]
"""The frames at the same position of both traces; None where one of them has ended."""
_Scope = Mapping[str, str] | None


def trace_measures(prediction: Prediction, true: Sequence[Frame], length: Callable[[str], int]) -> dict[str, float]:
    """The eight measures of a predicted trace. `length` is that of a text, in tokens.

    Frames are aligned by position, the first predicted with the first true one. A frame that is missing, or that is one
    too many, counts as wrong: each fraction of frames is of the longer of the two traces.

    - `valid_trace_format` (Valid Trace Format): 1 if the text is frames, with all tokens of their kinds, and no more.
    - `state_exact_match` (State, or Observation, Exact Match): the fraction of frames with the true kind and the true
      observation: the locals of a call or a line as a JSON object, the value of a return or an exception.
    - `action_exact_match` (Action Exact Match): the fraction of frames with the true source, to the byte.
    - `valid_json_format` (Valid JSON Format): the fraction of predicted states that are a JSON object of strings.
    - `key_match` (Key Match): of the names in either state, the fraction in both, as a mean over states.
    - `key_value_match` (Key+Value Match): the fraction of them that have the same value in both; `..` is a value.
    - `state_length`, `action_length` (Avg State Length, Avg Action Length): of what is predicted.

    A state is the locals of a call or a line. A measure is over the positions where either trace has one, and left out
    if there is nothing that it could be of. Where one contains another they fall together: a wrong value of a local is
    a wrong state; a wrong name is a wrong name with its value, and a wrong state; and what is no JSON is wrong in all
    four. A wrong kind of frame and a wrong value of a return or an exception lower `state_exact_match` alone, a wrong
    source `action_exact_match` alone, and a token that is missing between two frames `valid_trace_format` alone.
    """
    aligned: list[_Pair] = list(zip_longest(prediction.frames, true))
    scopes = [(_predicted(one), _true(other)) for one, other in aligned if _has_state(one, other)]
    states = [frame.state for frame in prediction.frames if frame.state is not None]
    actions = [frame.action for frame in prediction.frames if frame.action is not None]
    values: dict[str, Iterable[Any]] = {
        "valid_trace_format": [prediction.is_valid],
        "state_exact_match": [one and other and has_observation(one, other) for one, other in aligned],
        "action_exact_match": [one and other and one.action == other.action for one, other in aligned],
        "valid_json_format": [locals_in(state) is not None for state in states],
        "key_match": list(_shared(scopes, _same_names)),
        "key_value_match": list(_shared(scopes, _same_items)),
        "state_length": map(length, states),
        "action_length": map(length, actions),
    }
    lists = {name: [float(value or 0) for value in of_measure] for name, of_measure in values.items()}
    return {name: fmean(of_measure) for name, of_measure in lists.items() if of_measure}


def _has_state(predicted: PredictedFrame | None, true: Frame | None) -> bool:
    return bool((predicted and predicted.state is not None) or (true and true.value is None))


def _predicted(frame: PredictedFrame | None) -> _Scope:
    return locals_in(frame.state) if frame and frame.state is not None else None


def _true(frame: Frame | None) -> _Scope:
    return frame.locals if frame and frame.value is None else None


def _shared(
    scopes: Sequence[tuple[_Scope, _Scope]], count: Callable[[Mapping[str, str], Mapping[str, str]], int]
) -> Iterator[float]:
    """Of the names in either of two scopes, the fraction that `count` counts: 1 for two empty scopes, 0 without one."""
    for predicted, true in scopes:
        if predicted is None or true is None:
            yield 0.0
            continue
        names = len(predicted.keys() | true.keys())
        yield count(predicted, true) / names if names else 1.0


def _same_names(one: Mapping[str, str], other: Mapping[str, str]) -> int:
    return len(one.keys() & other.keys())


def _same_items(one: Mapping[str, str], other: Mapping[str, str]) -> int:
    return len(one.items() & other.items())
