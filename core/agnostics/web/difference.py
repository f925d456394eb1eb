"""Where an output left the expected one, as a place in each of the two texts."""

from __future__ import annotations

import re
from itertools import islice

Place = tuple[int, int]
"""A begin and an end, in characters; they are the same where the text has ended."""
_TOKEN = re.compile(r"[^ \t\n\v\f\r]+")
_LINE = re.compile(r"[^\n]*\n?")


def places(expected: str, actual: str, mode: str, index: int) -> tuple[Place, Place]:
    """The place in `expected` and the one in `actual`; `index` counts the tokens or lines before it, as `mode` does."""
    if mode == "exact":
        return (_exact(expected, actual), _exact(actual, expected))
    pattern = _LINE if mode == "lines" else _TOKEN
    return _nth(pattern, expected, index), _nth(pattern, actual, index)


def _nth(pattern: re.Pattern[str], text: str, index: int) -> Place:
    found = next(islice(pattern.finditer(text), index, None), None)
    return (len(text), len(text)) if found is None else found.span()


def _exact(text: str, other: str) -> Place:
    """The rest of the line in which `text` leaves `other`."""
    parts = (place for place, (here, there) in enumerate(zip(text, other, strict=False)) if here != there)
    begin = next(parts, min(len(text), len(other)))
    end = text.find("\n", begin)
    return begin, len(text) if end < 0 else end + 1
