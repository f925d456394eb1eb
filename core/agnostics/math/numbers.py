"""Numbers of normalised answers, and their equality within a precision."""

from __future__ import annotations

import re
from fractions import Fraction

PRECISION = Fraction(2, 10**6)
"""The relative difference up to which numbers are equal that are not integers: six digits of each are right."""

_DIGITS = r"\d{1,300}"  # a bound, because the conversion to binary takes longer than linear time
_DECIMAL = re.compile(rf"([+-]?)((?:{_DIGITS})?)(?:\.((?:{_DIGITS})?))?(?:\\(?:times|cdot)10\^\{{?(-?\d{{1,3}})\}}?)?")
_QUOTIENT = re.compile(rf"([+-]?)(?:\\frac\{{(-?{_DIGITS})\}}\{{(-?{_DIGITS})\}}|({_DIGITS})/({_DIGITS}))")


def values(text: str) -> tuple[Fraction, ...]:
    """The values that a normalised answer may stand for if it is a plain number or quotient; none if it is not.

    A percentage has two: `50%` is 50 or 1/2.
    """
    value = _value(text.removesuffix("%"))
    if value is None:
        return ()
    return (value, value / 100) if text.endswith("%") else (value,)


def close(first: Fraction, second: Fraction) -> bool:
    """Whether two numbers are equal: integers exactly, others within `PRECISION`."""
    if first == second or first.denominator == 1 or second.denominator == 1:
        return first == second
    return abs(first - second) <= PRECISION * max(abs(first), abs(second))


def _value(text: str) -> Fraction | None:
    if match := _DECIMAL.fullmatch(text):
        sign, whole, fraction, exponent = match.groups("")
        digits = whole + fraction
        return Fraction(f"{sign}{digits}") * Fraction(10) ** (int(exponent or 0) - len(fraction)) if digits else None
    if match := _QUOTIENT.fullmatch(text):
        sign, *parts = match.groups()
        above, below = (int(part) for part in parts if part is not None)
        return Fraction(above, below) * (-1 if sign == "-" else 1) if below else None
    return None
