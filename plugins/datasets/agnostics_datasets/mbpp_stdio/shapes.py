"""Values of Python literals as text: their types, and how they are read and printed in any language."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, Literal

from agnostics import Comparison

Scalar = Literal["integer", "number", "word", "text", "truth value"]
TOLERANCE = 1e-4
"""The error of a printed number, absolute or relative."""
_ONE: dict[Scalar | None, str] = {
    "integer": "an integer",
    "number": "a number",
    "word": "a word",
    "text": "a text",
    "truth value": "true or false",
}
_MANY: dict[Scalar | None, str] = {
    None: "elements",
    "integer": "integers",
    "number": "numbers",
    "word": "words",
    "text": "texts",
    "truth value": "truth values",
}
_SCALARS: dict[type, Scalar] = {bool: "truth value", int: "integer", float: "number"}
_WIDER: dict[frozenset[Scalar | None], Scalar] = {
    frozenset({"integer", "number"}): "number",
    frozenset({"word", "text"}): "text",
}


class Unsupported(Exception):
    """A value, or values together, that no rule writes as text."""


@dataclass(frozen=True, slots=True)
class Shape:
    """The type of a value: a scalar, a list of scalars (`depth` 1) or a list of rows of scalars (2).

    `scalar` is None for lists of which none has an element. A word is a text without white space.
    """

    scalar: Scalar | None
    depth: int

    def input_format(self) -> str:
        """How a value of this shape is read."""
        if self.depth == 0:
            return f"a line with {_ONE[self.scalar]}"
        many, spelling = _MANY[self.scalar], _spelling(self.scalar)
        if self.depth == 2:
            row = f"the number of its {many} and then these, separated by spaces"
            return f"a line with the number of rows, then a line for each row: {row}{spelling}"
        if self.scalar == "text":
            return "a line with the number of texts, then each text on a line of its own"
        return f"a line with the number of {many}, then a line with the {many}, separated by spaces{spelling}"

    def output_format(self) -> str:
        """How a value of this shape is printed."""
        many, spelling = _MANY[self.scalar], _spelling(self.scalar)
        if self.depth == 0:
            printed = _ONE[self.scalar]
        elif self.depth == 2:
            printed = f"each row on a line of its own, its {many} separated by spaces{spelling}"
        elif self.scalar == "text":
            printed = "each text on a line of its own"
        else:
            printed = f"the {many} on one line, separated by spaces{spelling}"
        allowed = f" An absolute or relative error of {TOLERANCE:g} is allowed." if self.scalar == "number" else ""
        return f"Print {printed}.{allowed}"

    def comparison(self) -> Comparison:
        """How a printed value is compared with the expected one."""
        if self.scalar == "number":
            return Comparison(mode="floats", absolute=TOLERANCE, relative=TOLERANCE)
        return Comparison(mode="lines" if self.scalar == "text" or self.depth == 2 else "tokens")

    def written(self, value: Any, *, sized: bool) -> str:
        """The lines of `value`; with the number of its elements before them if `sized`, as in an input.

        Without it, as in an output, all numbers have decimals, so that they are compared with a tolerance.
        """
        if self.scalar == "number" and not sized:
            value = _with_decimals(value)
        if self.depth == 0:
            return f"{_word(value)}\n"
        size = f"{len(value)}\n" if sized else ""
        if self.depth == 2:
            return size + "".join(_line([len(row), *row] if sized else row) for row in value)
        return size + ("".join(f"{text}\n" for text in value) if self.scalar == "text" else _line(value))


def shape_of(values: Sequence[Any]) -> Shape:
    """The shape that all of `values` have. Raises Unsupported if there is none."""
    return reduce(_joined, map(_shape, values))


def _shape(value: Any) -> Shape:
    if not isinstance(value, (list, tuple)):
        return Shape(_scalar(value), 0)
    inner = reduce(_joined, map(_shape, value), Shape(None, 0))
    if inner.depth == 2 or (inner.depth == 1 and inner.scalar == "text"):
        raise Unsupported("a list of lists of lists, or a row of texts with spaces")
    return Shape(inner.scalar, inner.depth + 1)


def _scalar(value: Any) -> Scalar:
    if isinstance(value, str):
        if any(c != " " and (c.isspace() or not c.isprintable()) for c in value):
            raise Unsupported("a text with line feeds, tabs or control characters")
        return "text" if not value or " " in value else "word"
    if type(value) not in _SCALARS:
        raise Unsupported(f"a value of type {type(value).__name__}")
    if isinstance(value, float) and abs(value) == float("inf"):
        raise Unsupported("an infinite number")
    if isinstance(value, int) and abs(value) >= 1 << 63:
        raise Unsupported("an integer of more than 64 bits, which few languages have")
    return _SCALARS[type(value)]


def _joined(one: Shape, other: Shape) -> Shape:
    """The shape of values of both. An empty list has any depth from 1 on."""
    if one.scalar is None or other.scalar is None:
        known, empty = (other, one) if one.scalar is None else (one, other)
        if known.scalar is not None and known.depth < empty.depth:
            raise Unsupported("lists and other values")
        return Shape(known.scalar, max(one.depth, other.depth))
    scalars = {one.scalar, other.scalar}
    if one.depth != other.depth:
        raise Unsupported("values of several depths")
    if len(scalars) == 1:
        return one
    if both := _WIDER.get(frozenset(scalars)):
        return Shape(both, one.depth)
    raise Unsupported(f"values of the types {' and '.join(sorted(scalars))}")


def _spelling(scalar: Scalar | None) -> str:
    return " (true or false)" if scalar == "truth value" else ""


def _with_decimals(value: Any) -> Any:
    return [_with_decimals(one) for one in value] if isinstance(value, (list, tuple)) else float(value)


def _line(values: Sequence[Any]) -> str:
    return " ".join(map(_word, values)) + "\n"


def _word(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
