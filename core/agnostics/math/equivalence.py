"""The equality of two answers: the disjunction of our normaliser and math-verify (arXiv 2510.02387, section 16).

It runs in a slot, since the symbolic part may take any time and memory: it computes whatever an answer says.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from latex2sympy2_extended import normalize_latex
from math_verify import LatexExtractionConfig, verify
from math_verify.parser import parse_latex_cached
from sympy import Expr, Float

from agnostics.math.normaliser import normalise, to_latex
from agnostics.math.numbers import close, values
from agnostics.math.structure import Structure, structure_of, without_parentheses

_NORMALIZATION = LatexExtractionConfig().normalization_config
_UNIT_POWER = re.compile(r"\\(?:text|mbox|mathrm)\s*\{[^{}]*\}\s*\^\s*\{?(\d)\}?\s*$")
"""The power of a unit at the end, as in square inches: math-verify takes units away, with their powers."""


def equivalent(prediction: str, gold: str) -> bool:
    """Whether two answers are equal. Parts of structures are compared with each other; order counts but in sets."""
    given, known = (without_parentheses(normalise(answer)) for answer in (prediction, gold))
    if given == known:
        return True
    if (some := values(given)) and (others := values(known)):
        return any(close(one, other) for one in some for other in others)
    mine, theirs = structure_of(given), structure_of(known)
    if mine and theirs and (mine.kind == theirs.kind or (mine.is_ordered and theirs.is_ordered)):
        return _equal_parts(mine, theirs)
    return _symbolically_equal(prediction, gold)


def _equal_parts(mine: Structure, theirs: Structure) -> bool:
    if (mine.kind, len(mine.parts)) != (theirs.kind, len(theirs.parts)):
        return False
    if mine.is_ordered:
        return all(map(equivalent, mine.parts, theirs.parts))
    return _equal_sets(mine.parts, theirs.parts)


def _equal_sets(mine: Sequence[str], theirs: Sequence[str]) -> bool:
    """Whether each part of one equals another part of the other; there are as many of both."""
    left = list(theirs)
    for part in mine:
        found = next((place for place, other in enumerate(left) if equivalent(part, other)), None)
        if found is None:
            return False
        del left[found]
    return True


def _symbolically_equal(prediction: str, gold: str) -> bool:
    powers = {match[1] for match in map(_UNIT_POWER.search, (prediction, gold)) if match}
    if len(powers) == 2:
        return False
    given, known = _parsed(prediction), _parsed(gold)
    numbers = [_number(parsed) for parsed in (given, known)]
    if any(map(_has_float, (given, known))) and None not in numbers:
        return close(*(number for number in numbers if number is not None))
    return bool(verify(known, given, allow_set_relation_comp=True, timeout_seconds=None))


def _parsed(answer: str) -> list[Any]:
    """What math-verify's `parse` makes of an answer that it has found: an expression, if it can be read, and a text."""
    text = normalize_latex(to_latex(answer), _NORMALIZATION).strip()
    try:
        return [parse_latex_cached(text), text]
    except Exception:  # the parser raises nothing more special
        return [text]


def _has_float(parsed: Sequence[Any]) -> bool:
    return any(isinstance(one, Expr) and one.has(Float) for one in parsed)


def _number(parsed: Sequence[Any]) -> Fraction | None:
    """The value of an expression without variables, or None. math-verify rounds it, which makes small numbers equal."""
    expression = next((one for one in parsed if isinstance(one, Expr) and one.is_number), None)
    try:
        return None if expression is None else Fraction(float(expression.doit()))
    except (ArithmeticError, TypeError, ValueError):  # complex, infinite or undefined
        return None
