"""A call as a JSON object: `{"name": ..., "arguments": {...}}`, in whichever marks a family writes it."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import NoReturn

from agnostics.environments.tools.raw_call import RawCall
from agnostics.environments.tools.tool import ArgumentError, shown

_BETWEEN = re.compile(r"\s*+(?:;\s*+)?")
"""What stands between two calls."""
_ARGUMENT_KEYS = ("arguments", "parameters")
_MAX_DIGITS = 40
"""Of a number: to convert a long one would take quadratic time."""
_FORM = '{"name": "...", "arguments": {...}}'


def json_calls(text: str) -> Iterator[RawCall | ArgumentError]:
    """The calls in a text of JSON objects, one after another, or of lists of them; what is no JSON ends them."""
    at, end = 0, len(text)
    while at == 0 or at < end:
        try:
            value, at = read_json(text, at)
        except ArgumentError as error:
            yield error
            return
        yield from map(_raw_call, value if isinstance(value, list) else [value])
        between = _BETWEEN.match(text, at)
        at = between.end() if between else at


def read_json(text: str, at: int) -> tuple[object, int]:
    """The JSON value that begins at `at`, and where it ends. Raises ArgumentError."""
    with _errors_of_the_call():
        return _DECODER.raw_decode(text, at)


def one_json_call(text: str) -> RawCall | ArgumentError:
    """The call that is a text, or the reason why it is none."""
    try:
        with _errors_of_the_call():
            value = _DECODER.decode(text)
    except ArgumentError as error:
        return error
    return _raw_call(value)


def call_of(name: str, arguments: object) -> RawCall:
    """The call with this name, and a JSON value as its arguments."""
    return RawCall(name, lambda tool: tool.arguments_in(_object(arguments)))


def _raw_call(value: object) -> RawCall | ArgumentError:
    """The call that is a JSON value, or the reason why it is none."""
    if not isinstance(value, dict):
        return ArgumentError(f"the call is not a JSON object; write {_FORM}")
    name, keys = value.get("name"), [key for key in _ARGUMENT_KEYS if key in value]
    if not isinstance(name, str) or len(keys) != 1:
        return ArgumentError(f"the call needs a name and arguments; write {_FORM}")
    return call_of(name, value[keys[0]])


@contextmanager
def _errors_of_the_call() -> Iterator[None]:
    """Raises ArgumentError for what is no JSON."""
    try:
        yield
    except json.JSONDecodeError as error:
        raise ArgumentError(f"the call is not valid JSON: {error.msg} (character {error.pos})") from error
    except RecursionError as error:
        raise ArgumentError("the call is nested too deeply") from error


def _without_duplicates(pairs: list[tuple[str, object]]) -> dict[str, object]:
    value = dict[str, object]()
    for name, item in pairs:
        if name in value:
            raise ArgumentError(f"the call has the key {shown(name)} twice")
        value[name] = item
    return value


def _refuse_constant(name: str) -> NoReturn:
    raise ArgumentError(f"the call is not valid JSON: it holds {name}")


def _number(text: str) -> float:
    if len(text) > _MAX_DIGITS:
        raise ArgumentError(f"the call holds a number of more than {_MAX_DIGITS} digits")
    number = float(text) if set(text) & set(".eE") else int(text)
    if not math.isfinite(number):
        raise ArgumentError("the call holds a number that is too large")
    return number


_DECODER = json.JSONDecoder(
    object_pairs_hook=_without_duplicates,
    parse_int=_number,
    parse_float=_number,
    parse_constant=_refuse_constant,
)


def _object(arguments: object) -> Mapping[str, object]:
    if not isinstance(arguments, dict):
        raise ArgumentError("the arguments are not a JSON object")
    return arguments
