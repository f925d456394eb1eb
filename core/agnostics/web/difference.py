"""The position of the first difference between an output and the expected one, in both texts."""

from __future__ import annotations

import re
from itertools import islice

Span = tuple[int, int]
"""A begin and an end, in characters; equal if the text has ended."""
_TOKEN = re.compile(r"[^ \t\n\v\f\r]+")
_LINE = re.compile(r"[^\n]*\n?")


def difference_spans(expected: str, actual: str, mode: str, index: int) -> tuple[Span, Span]:
    """The spans in `expected` and in `actual`; `index` is the number of equal tokens or lines before, by `mode`."""
    if mode == "exact":
        return (_exact(expected, actual), _exact(actual, expected))
    pattern = _LINE if mode == "lines" else _TOKEN
    return _nth(pattern, expected, index), _nth(pattern, actual, index)


def _nth(pattern: re.Pattern[str], text: str, index: int) -> Span:
    match = next(islice(pattern.finditer(text), index, None), None)
    return (len(text), len(text)) if match is None else match.span()


def _exact(text: str, other: str) -> Span:
    """The rest of the line from the first character in which `text` differs from `other`."""
    differing = (index for index, (a, b) in enumerate(zip(text, other, strict=False)) if a != b)
    begin = next(differing, min(len(text), len(other)))
    end = text.find("\n", begin)
    return begin, len(text) if end < 0 else end + 1
