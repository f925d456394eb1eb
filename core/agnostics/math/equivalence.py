"""The equality of two answers: the disjunction of our normaliser and math-verify (arXiv 2510.02387, section 16).

It runs in a slot, since the symbolic part may take any time and memory: it computes whatever an answer says.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from latex2sympy2_extended import normalize_latex
from math_verify import LatexExtractionConfig, verify
from math_verify.parser import parse_latex_cached
from sympy import Eq, Expr, Float, I
from sympy.core.relational import Relational

from agnostics.math.normaliser import normalise, to_latex
from agnostics.math.numbers import Number, approximate, close, values
from agnostics.math.structure import Structure, coordinates, has_thousands, structure_of, without_parentheses
from agnostics.math.units import split_unit, split_words

_WITHOUT_UNITS = LatexExtractionConfig().normalization_config
_WITH_LETTERS = replace(_WITHOUT_UNITS, units=False)
_UNIT_POWER = re.compile(r"\\(?:text|mbox|mathrm)\s*\{[^{}]*\}\s*\^\s*\{?(\d)\}?\s*$")
"""The power of a unit at the end, as in square inches: math-verify takes units away, with their powers."""
_LETTER_AT_END = re.compile(r"(?<![A-Za-z\\])(?:[A-Za-z]|ab|bc)[\s$.]*$")
"""A variable, as in `5t`, which math-verify takes for a unit."""
_METRIC_AT_END = re.compile(r"\d\s*[ghlms][\s$.]*$")
_ANGLE = re.compile(r"(\d+(?:\.\d+)?)\s*\^\s*(?:\\circ(?![A-Za-z])|\{\s*\\circ\s*\})")
_ODD_ROOT = re.compile(r"\\sqrt\s*\[\s*(\d{0,3}[13579])\s*\]\s*\{\s*-\s*(\d+(?:\.\d+)?|\\frac\{\d+\}\{\d+\})\s*\}")
"""An odd root of a negative number, which is real in an answer; sympy takes the principal one, which is complex."""
_OF_ANGLE = re.compile(r"\\(?:sin|cos|tan|cot|sec|csc)(?![A-Za-z])")
_WORDS_INSIDE = re.compile(r"\d (?!or |and )[A-Za-z]{2,}(?: [A-Za-z]+)*+ \d")
"""Words between numbers, as in `3 to 2`, which math-verify takes for factors, whose order says nothing."""
_UPRIGHT_I = re.compile(r"\\mathrm\s*\{i\}|\\mathrm i(?![A-Za-z])|\\imath(?![A-Za-z])")


def equivalent(prediction: str, gold: str) -> bool:
    """Whether two answers are equal. Parts of structures are compared with each other; order counts but in sets."""
    (given, unit), (known, other_unit) = (split_unit(without_parentheses(normalise(one))) for one in (prediction, gold))
    if unit and other_unit and unit != other_unit:
        return False
    if given == known:
        return True
    (number, words), (other_number, other_words) = split_words(given), split_words(known)
    if (some := values(number)) and (others := values(other_number)):
        count_the_same = not words or not other_words or bool(words & other_words)
        return count_the_same and any(close(one, other) for one in some for other in others)
    if _WORDS_INSIDE.search(given) and _WORDS_INSIDE.search(known):
        return False
    mine, theirs = structure_of(given), structure_of(known)
    if mine and theirs and (mine.kind == theirs.kind or "union" not in {mine.kind, theirs.kind}):
        return _equal_parts(mine, theirs)
    return _symbolically_equal(
        given if unit or has_thousands(given) else prediction, known if other_unit or has_thousands(known) else gold
    )


def _equal_parts(mine: Structure, theirs: Structure) -> bool:
    if mine.is_ordered != theirs.is_ordered:
        mine, theirs = coordinates(mine), coordinates(theirs)
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
    given, known = _parsed(prediction, gold), _parsed(gold, gold)
    if _is_equation_of_a_sum(known) and not any(isinstance(one, Relational) for one in given):
        return False
    if "%" not in prediction + gold and (numbers := _numbers(given, known)):
        are_close = close(*numbers)
        if not are_close or any(map(_has_float, (given, known))):
            return are_close
    return _verified(given, known) or _equal_with_i(given, known)


def _verified(given: Sequence[Any], known: Sequence[Any]) -> bool:
    return bool(verify(list(known), list(given), allow_set_relation_comp=True, timeout_seconds=None))


def _equal_with_i(given: Sequence[Any], known: Sequence[Any]) -> bool:
    """Whether two expressions are equal if `i` is the imaginary unit, which math-verify takes for a variable."""
    expressions = [one for parsed in (given, known) for one in parsed if isinstance(one, Expr)]
    try:
        numbers = [_with_imaginary_unit(one) for one in expressions]
    except Exception:  # sympy raises anything, as for the larger one of two complex numbers
        return False
    return len(numbers) == 2 and numbers != expressions and _verified(numbers[:1], numbers[1:])


def _with_imaginary_unit(expression: Expr) -> Expr:
    units = {symbol: I for symbol in expression.free_symbols if str(symbol) == "i"}
    return expression.doit().subs(units).expand(complex=True) if units else expression


def _parsed(answer: str, gold: str) -> list[Any]:
    """What math-verify's `parse` makes of an answer that it has found: an expression, if it can be read, and a text."""
    config = _WITH_LETTERS if _ends_with_variable(answer, gold) else _WITHOUT_UNITS
    latex = _UPRIGHT_I.sub("i", to_latex(answer))
    latex = _ODD_ROOT.sub(r"\\left(-\\sqrt[\1]{\2}\\right)", latex)
    if _OF_ANGLE.search(latex):
        latex = _ANGLE.sub(r"{\\frac{\1\\pi}{180}}", latex)
    text = normalize_latex(latex, config).strip()
    try:
        return [parse_latex_cached(text), text]
    except Exception:  # the parser raises nothing more special
        return [text]


def _ends_with_variable(answer: str, gold: str) -> bool:
    if not _LETTER_AT_END.search(answer):
        return False
    return not (_METRIC_AT_END.search(answer) and values(normalise(gold)))


def _is_equation_of_a_sum(parsed: Sequence[Any]) -> bool:
    """Whether it is an equation such as `x+y=4`, for which its right side does not stand."""
    return isinstance(parsed[0], Eq) and parsed[0].lhs.is_Add and len(parsed[0].lhs.free_symbols) > 1


def _has_float(parsed: Sequence[Any]) -> bool:
    return any(isinstance(one, Expr) and one.has(Float) for one in parsed)


def _numbers(*answers: Sequence[Any]) -> list[Number]:
    """The numbers, if all are expressions without variables. math-verify rounds them, which makes small ones equal."""
    found = [_number(parsed) for parsed in answers]
    return [] if None in found else [number for number in found if number is not None]


def _number(parsed: Sequence[Any]) -> Number | None:
    expression = next((one for one in parsed if isinstance(one, Expr) and one.is_number), None)
    try:
        return None if expression is None else approximate(float(expression.doit()))
    except (ArithmeticError, TypeError, ValueError):  # complex, infinite or undefined
        return None
