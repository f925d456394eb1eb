"""The numbers and words that stand in a program as they are, whatever its language, and how telling each is."""

from __future__ import annotations

import math
import re

_COMMENT = re.compile(r"^[ \t]*(?:--|//|/\*|\(\*|#|!|;|%|\*).*$|\s(?:--|//|#|!)\s.*$", re.MULTILINE)
_LITERAL = re.compile(
    r'"(?P<double>(?:[^"\\\n]|\\.){0,1000})"'
    r"|'(?P<single>(?:[^'\\\n]|\\.){0,1000})'"
    r"|`(?P<back>[^`\n]*)`"
    r"|\[\[(?P<long>.{0,1000}?)\]\]"
    r"|(?<![\w.])(?P<number>\d+(?:\.\d+)?)",
    re.DOTALL,
)
_ESCAPE = re.compile(r"\\[nrt0]|%[nds]")
_NUMBER = re.compile(r"[+-]?(\d+(?:\.\d+)?)")
_LONGEST = 30_000
"""Characters of a program that are looked at."""
_COMMON = 4.0
"""The bits of a number that many programs hold: 1024, 2147483647, 999999999, 1000000007."""
_MOST = 10_000
"""Tokens of them."""


def literals(program: str) -> list[str]:
    """The tokens of the numbers and quoted texts of `program`, in order; comments aside, as far as they look like any.

    No language is parsed: what is quoted in most languages counts, and white space within quotes parts tokens.
    """
    found = list[str]()
    for match in _LITERAL.finditer(_COMMENT.sub("", program[:_LONGEST])):
        quoted = next((text for name, text in match.groupdict().items() if text is not None and name != "number"), None)
        found += [match["number"]] if quoted is None else tokens(_ESCAPE.sub(" ", quoted))
    return found[:_MOST]


def tokens(text: str) -> list[str]:
    """The words of `text`, numbers without their sign: a literal has none."""
    return [number[1] if (number := _NUMBER.fullmatch(word)) else word for word in text.split()]


def bits(token: str) -> float:
    """How unlikely it is to meet `token` in a program by chance, in bits: more for long words and long numbers.

    Zeros at the end say little, and so do powers of ten and of two and what is right beside them.
    """
    if not _NUMBER.fullmatch(token):
        return min(4.0 * len(token), 40.0)
    digits = token.replace(".", "").strip("0")[:30]
    known = math.log2(int(digits or 0) + 1) + math.log2(1 + len(token) - len(token.rstrip("0")))
    return min(known, _COMMON) if _is_common(token) else known


def _is_common(number: str) -> bool:
    if "." in number or len(number) > 30 or int(number) < 100:
        return False
    value = int(number)
    beside_ten = min(abs(value - 10 ** (len(number) + more)) for more in (-1, 0)) <= 10
    return beside_ten or any(near & (near - 1) == 0 for near in (value - 1, value, value + 1))
