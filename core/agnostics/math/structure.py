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
_WITH_COMMAS = re.compile(r"[+-]?[1-9]\d{0,2}(?:,\d{3})*,0\d\d(?:,\d{3})*")
_COORDINATE = re.compile("([A-Za-z])=(.*)", re.DOTALL)
_RELATION = re.compile(r"[<>]|\\[lg]e(?![A-Za-z])")
_PLUS_MINUS = re.compile(r"\\([pm])[mp](?![A-Za-z]) ?")
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


def coordinates(answer: Structure) -> Structure:
    """The point for a set of equations with a letter each, in the order of the letters: (5,4) for `x=5,y=4`."""
    named = [_COORDINATE.fullmatch(part) for part in answer.parts]
    by_name = {match[1]: match[2] for match in named if match}
    if answer.is_ordered or len(by_name) < len(named):
        return answer
    return Structure("()", tuple(by_name[name] for name in sorted(by_name)))


def structure_of(text: str) -> Structure | None:
    """The structure of a normalised answer, or None if it has one part only.

    A list without brackets is a set, and so are the two values of an answer with a plus-minus sign.
    """
    if match := _MATRIX.fullmatch(text):
        return _matrix(match[2])
    if match := _BASED.fullmatch(text):
        return Structure("base", match.groups())
    if has_thousands(text):
        return None
    for separator, kind in ((",", "set"), (r"\cup", "union")):
        parts = _split(text, separator)
        if len(parts) > 1:
            return Structure(kind, _with_both_signs(parts))
    if text.startswith(r"\{") and text.endswith(r"\}") and _closes_at_end(text):
        return Structure("set", _with_both_signs(_split(text[2:-2], ",")))
    if len(parts := tuple(text.split(" or "))) > 1 and all(map(_RELATION.search, parts)):
        return Structure("union", parts)
    parts = _with_both_signs((text,))
    return Structure("set", parts) if len(parts) > 1 else _bracketed(text)


def without_parentheses(text: str) -> str:
    """A normalised answer without the parentheses around all of it: `(C)` is `C`."""
    if not (text.startswith("(") and text.endswith(")") and _closes_at_end(text)):
        return text
    inner = text[1:-1]
    return inner if len(_split(inner, ",")) == 1 or has_thousands(inner) else text


def has_thousands(text: str) -> bool:
    """Whether a normalised answer is one number with commas, as `1,000`: nobody writes the part of a list as `000`."""
    return _WITH_COMMAS.fullmatch(text) is not None


def _bracketed(text: str) -> Structure | None:
    if text[:1] in {"(", "["} and text[-1:] in {")", "]"} and _closes_at_end(text):
        parts = _split(text[1:-1], ",")
        return Structure(text[0] + text[-1], parts) if len(parts) > 1 or text[0] == "[" else None
    return None


def _with_both_signs(parts: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(one for part in parts for one in dict.fromkeys((_signed(part, "p"), _signed(part, "m"))))


def _signed(text: str, upper: str) -> str:
    """`text` with the upper or the lower signs in place of double ones; `upper` is the letter of `+`'s command."""
    return _PLUS_MINUS.sub(lambda match: "+" if match[1] == upper else "-", text)


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
