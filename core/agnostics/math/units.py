"""Units of measurement at the end of a normalised answer, such as `5 cm^2`."""

from __future__ import annotations

import re
from dataclasses import dataclass

from agnostics.math.numbers import MANY

_NAMES = {
    **{"cm": "centimeter centimetre", "m": "meter metre", "mm": "millimeter millimetre", "km": "kilometer kilometre"},
    **{"in": "inch inches", "ft": "foot feet", "yd": "yard", "mi": "mile", "unit": "", "acre": "", "ton": "tonne"},
    **{"g": "gram", "kg": "kilogram", "mg": "milligram", "lb": "pound", "oz": "ounce"},
    **{"s": "second sec", "min": "minute", "h": "hour hr", "day": "", "week": "", "month": "", "year": "yr"},
    **{"l": "liter litre", "ml": "milliliter millilitre", "gal": "gallon", "quart": "", "pint": "", "cup": ""},
    **{"mi/h": "mph", "degree": "deg", "radian": "rad", "dollar": "", "cent": "", "euro": ""},
}
_UNITS = {alias: name for name, aliases in _NAMES.items() for alias in (name, *aliases.split())}
_POWERS = {"square": 2, "sq": 2, "cubic": 3, "cu": 3}
_PHRASE = r"[A-Za-z]+(?:[ /][A-Za-z]+)*+"
_AT_END = re.compile(rf"(?:(?<=[\d}})])|(?<=\\pi))( (?:{'|'.join(MANY)})(?= ))? ?({_PHRASE})(?:\^([23]))?$")
_WORDS_AT_END = re.compile(r"(?<=\d)((?: [A-Za-z]+)++)$")
_MEANINGFUL = {
    *("or", "and", "not", "to", "of", "per", "over", "choose", "times", "plus", "minus", "percent"),
    *("pi", "sqrt", "root", "squared", "cubed", "factorial"),
}
"""Words that say more of a number than what it counts."""


@dataclass(frozen=True)
class Unit:
    """A unit by its shortest name, and its power: 2 for an area."""

    name: str
    power: int


def split_unit(text: str) -> tuple[str, Unit | None]:
    """A normalised answer without its unit, and the unit, None if it has none that is known.

    A letter that touches a digit is a variable: `5m` has no unit, `5 m` has.
    The word `unit` is taken away and names none: `5 square units` is `5 cm^2`.
    """
    match = _AT_END.search(text)
    if match is None or (len(match[2]) == 1 and match[0][0] != " "):
        return text, None
    many, phrase, power = match.groups("")
    first, _, rest = phrase.lower().partition(" ")
    unit = _unit(rest, _POWERS[first]) if first in _POWERS else _unit(phrase.lower(), int(power or 1))
    if unit is None:
        return text, None
    return text[: match.start()] + many, None if unit.name == "unit" else unit


def split_words(text: str) -> tuple[str, frozenset[str]]:
    """A normalised answer without the words that say what a number counts, and these: `36` for `36 brown eggs`."""
    match = _WORDS_AT_END.search(text)
    words = match[1].lower().split() if match else []
    says_more = any(len(word) == 1 or word in _MEANINGFUL or word in MANY for word in words)
    if match is None or says_more:
        return text, frozenset()
    return text[: match.start()], frozenset(word.removesuffix("s") for word in words)


def _unit(phrase: str, power: int) -> Unit | None:
    names = [_UNITS.get(word) or _UNITS.get(word.removesuffix("s")) for word in re.split("/| per ", phrase)]
    return Unit("/".join(filter(None, names)), power) if all(names) else None
