r"""Structured answers: lists, sets, tuples, intervals, unions, matrices and numbers in a base, as their parts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_TOKEN = re.compile(r"\\[A-Za-z]+|\\.|.", re.DOTALL)
_OPENING = {"(", "[", "{", r"\{", r"\begin"}
_CLOSING = {")", "]", "}", r"\}", r"\end"}
_BASED = re.compile(r"(-?\d[\dA-Fa-f]*)_\{?(\d{1,2})\}?")
"""A number in a base, such as `52_8`: math-verify passes over the base."""
_MATRIX = re.compile(r"\\begin\{([pb]?matrix)\}(.*)\\end\{\1\}", re.DOTALL)


@dataclass(frozen=True)
class Structure:
    """An answer of several parts. Answers of different kinds differ, and so do those of different shapes."""

    kind: str
    """`set`, `union`, `matrix of` the lengths of its rows, `base`, or the brackets of a tuple or an interval."""
    parts: tuple[str, ...]

    @property
    def is_ordered(self) -> bool:
        """Whether the order of its parts matters."""
        return self.kind not in {"set", "union"}


def structure_of(text: str) -> Structure | None:
    """The structure of a normalised answer, or None if it has one part only. A list without brackets is a set."""
    if match := _MATRIX.fullmatch(text):
        return _matrix(match[2])
    if match := _BASED.fullmatch(text):
        return Structure("base", match.groups())
    for separator, kind in ((",", "set"), (r"\cup", "union")):
        parts = _split(text, separator)
        if len(parts) > 1:
            return Structure(kind, parts)
    return _bracketed(text)


def without_parentheses(text: str) -> str:
    """A normalised answer without the parentheses around all of it: `(C)` is `C`."""
    is_enclosed = text.startswith("(") and text.endswith(")") and _closes_at_end(text)
    return text[1:-1] if is_enclosed and len(_split(text[1:-1], ",")) == 1 else text


def _bracketed(text: str) -> Structure | None:
    if text.startswith(r"\{") and text.endswith(r"\}") and _closes_at_end(text):
        return Structure("set", _split(text[2:-2], ","))
    if text[:1] in {"(", "["} and text[-1:] in {")", "]"} and _closes_at_end(text):
        parts = _split(text[1:-1], ",")
        return Structure(text[0] + text[-1], parts) if len(parts) > 1 or text[0] == "[" else None
    return None


def _matrix(body: str) -> Structure:
    rows = [_split(row, "&") for row in _split(body, r"\\") if row]
    shape = ",".join(str(len(row)) for row in rows)
    return Structure(f"matrix of {shape}", tuple(cell for row in rows for cell in row))


def _tokens(text: str) -> Iterator[tuple[str, int, int]]:
    """The tokens with their places and the depth of brackets after each."""
    depth = 0
    for match in _TOKEN.finditer(text):
        depth += (match[0] in _OPENING) - (match[0] in _CLOSING)
        yield match[0], match.start(), depth


def _split(text: str, separator: str) -> tuple[str, ...]:
    """The parts of `text` between separators outside brackets."""
    places = [place for token, place, depth in _tokens(text) if token == separator and not depth]
    starts = [0, *(place + len(separator) for place in places)]
    return tuple(text[start:end].strip() for start, end in zip(starts, [*places, len(text)], strict=True))


def _closes_at_end(text: str) -> bool:
    """Whether the bracket that `text` begins with is closed by its last one."""
    ends = [place + len(token) for token, place, depth in _tokens(text) if not depth]
    return ends[:1] == [len(text)]
