"""Numbers of normalised answers, and their equality within a precision."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

PRECISION = Fraction(2, 10**6)
"""The relative difference up to which numbers are equal that are not integers: six digits of each are right."""

_DIGITS = r"\d{1,300}"  # a bound, because the conversion to binary takes longer than linear time
_POWER = r"\\(?:times|cdot)10\^\{?(-?\d{1,3})\}?"
_DECIMAL = re.compile(rf"([+-]?)((?:{_DIGITS})?)(?:\.((?:{_DIGITS})?))?(?:(?:{_POWER})|[eE]([+-]?\d{{1,3}}))?")
_REPEATING = re.compile(rf"([+-]?)((?:{_DIGITS})?)\.((?:{_DIGITS})?)\\(?:overline|bar|dot)\{{?({_DIGITS})\}}?")
_FRACTION = rf"\\frac\{{(-?{_DIGITS})\}}\{{(-?{_DIGITS})\}}"
_QUOTIENT = re.compile(rf"([+-]?)(?:{_FRACTION}|({_DIGITS})/({_DIGITS}))")
_MIXED = re.compile(rf"([+-]?)({_DIGITS})(?:\\frac\{{({_DIGITS})\}}\{{({_DIGITS})\}}| ({_DIGITS})/({_DIGITS}))")
_GROUPED = re.compile(r"[+-]?\d{1,3}(?:,\d{3})++(?:\.\d*)?")
MANY = {"hundred": 10**2, "thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12, "dozen": 12}


@dataclass(frozen=True)
class Number:
    """A number as an answer writes it."""

    value: Fraction
    step: Fraction = Fraction()
    """The value of its last decimal place; 0 for an integer, a quotient and a repeating decimal, which are exact."""

    def times(self, factor: Fraction | int) -> Number:
        """The product."""
        return Number(self.value * factor, self.step * factor)


def values(text: str) -> tuple[Number, ...]:
    """The numbers that a normalised answer may stand for if it is a plain number or quotient; none if it is not.

    A percentage has two: `50%` is 50 or 1/2.
    """
    number = _number(text.removesuffix("%"))
    if number is None:
        return ()
    return (number, number.times(Fraction(1, 100))) if text.endswith("%") else (number,)


def approximate(value: float) -> Number:
    """The number for what is computed, whose decimal places say nothing. Raises OverflowError or ValueError."""
    number = Fraction(value)
    return Number(number, abs(number))


def close(first: Number, second: Number) -> bool:
    """Whether two numbers are equal: exact ones exactly; others if the coarser one is the other, rounded or cut off.

    The difference is at most `PRECISION` of them besides.
    """
    if first.value == second.value or 1 in {first.value.denominator, second.value.denominator}:
        return first.value == second.value
    fine, coarse = sorted((first, second), key=lambda number: number.step)
    difference = abs(fine.value - coarse.value)
    left_out = abs(fine.value) - abs(coarse.value)
    return difference <= PRECISION * abs(fine.value) and -coarse.step / 2 <= left_out < coarse.step


def _number(text: str) -> Number | None:
    plain, _, word = text.partition(" ")
    if word in MANY:
        number = _number(plain)
        return number and number.times(MANY[word])
    digits = text.replace(",", "") if _GROUPED.fullmatch(text) else text
    return _decimal(digits) or _quotient(digits)


def _decimal(text: str) -> Number | None:
    if match := _DECIMAL.fullmatch(text):
        sign, whole, fraction, power, exponent = match.groups("")
        step = Fraction(10) ** (int(power or exponent or 0) - len(fraction))
        return Number(Fraction(f"{sign}{whole}{fraction}") * step, step) if whole + fraction else None
    if match := _REPEATING.fullmatch(text):
        sign, whole, fraction, period = match.groups("")
        start, end = (Fraction(int(digits or 0)) for digits in (whole + fraction, whole + fraction + period))
        value = (end - start) / (10 ** len(fraction) * (10 ** len(period) - 1))
        return Number(-value if sign == "-" else value)
    return None


def _quotient(text: str) -> Number | None:
    if match := _MIXED.fullmatch(text):
        sign, *parts = match.groups()
        whole, above, below = (int(part) for part in parts if part is not None)
        above += whole * below
    elif match := _QUOTIENT.fullmatch(text):
        sign, *parts = match.groups()
        above, below = (int(part) for part in parts if part is not None)
    else:
        return None
    return Number(Fraction(above, below) * (-1 if sign == "-" else 1)) if below else None
