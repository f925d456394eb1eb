"""The complexity classes that are told apart, and their names in texts."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from enum import StrEnum


class ComplexityClass(StrEnum):
    """A complexity class in one variable; members are in order of growth."""

    CONSTANT = "O(1)"
    LOGARITHMIC = "O(log n)"
    LINEAR = "O(n)"
    LINEARITHMIC = "O(n log n)"
    QUADRATIC = "O(n^2)"
    CUBIC = "O(n^3)"
    EXPONENTIAL = "O(2^n)"

    def is_within(self, other: ComplexityClass) -> bool:
        """Whether it grows no faster than `other`."""
        return ORDER[self] <= ORDER[other]


ORDER = {klass: place for place, klass in enumerate(ComplexityClass)}
GROWTH: Mapping[ComplexityClass, Callable[[float], float]] = {
    ComplexityClass.CONSTANT: lambda _: 1.0,
    ComplexityClass.LOGARITHMIC: lambda n: math.log2(n),
    ComplexityClass.LINEAR: lambda n: n,
    ComplexityClass.LINEARITHMIC: lambda n: n * math.log2(n),
    ComplexityClass.QUADRATIC: lambda n: n * n,
    ComplexityClass.CUBIC: lambda n: n**3,
}
"""The growth of each class; that of the exponential one has a base, which is fitted."""
_NAMED = re.compile(r"(?:[OΘ]|\\Theta|\\mathcal\{O\})\s*\(((?:[^()]|\([^()]*\))*)\)")
_SUPERSCRIPTS = str.maketrans({"²": "^2", "³": "^3", "ⁿ": "^n", "·": "*", "\u00d7": "*"})
_SPELLINGS = {
    "1": ComplexityClass.CONSTANT,
    "logn": ComplexityClass.LOGARITHMIC,
    "n": ComplexityClass.LINEAR,
    "nlogn": ComplexityClass.LINEARITHMIC,
    "n^2": ComplexityClass.QUADRATIC,
    "n^3": ComplexityClass.CUBIC,
    "2^n": ComplexityClass.EXPONENTIAL,
}


def complexity_in(text: str) -> ComplexityClass | None:
    """The class that the last `O(...)` in a text names; None if there is none, or it names another class.

    `O(n²)`, `O(n*n)`, `O(n**2)`, `O(N log_2 N)` and LaTeX are understood. The variable may have any name.
    """
    names = _NAMED.findall(text)
    return _SPELLINGS.get(_normalised(names[-1])) if names else None


def _normalised(name: str) -> str:
    text = name.translate(_SUPERSCRIPTS).replace("**", "^").replace("{", "").replace("}", "").replace("\\", "").lower()
    text = re.sub(r"log(?:_?\d+)?|ln|lg", "log", re.sub(r"cdot|times|[*\s]", "", text))
    text = re.sub(r"log\(([a-z])\)", r"log\1", text).strip("()")
    variables = {letter for letter in text.replace("log", "") if letter.isalpha()}
    if len(variables) == 1:
        text = re.sub(r"(log)|[a-z]", lambda match: match[1] or "n", text)
    return {"nn": "n^2", "nnn": "n^3", "lognn": "nlogn"}.get(text, text)
