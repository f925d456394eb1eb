"""The literals of a program in any language, numbers and quoted words, and the surprisal of each."""

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
_MAX_CHARS = 30_000
"""Characters of a program that are read."""
_COMMON_BITS = 4.0
"""The surprisal of a number that many programs contain: 1024, 2147483647, 999999999, 1000000007."""
_MAX_TOKENS = 10_000
"""Tokens of the literals that are read."""


def extract_literals(program: str) -> list[str]:
    """The tokens of the numbers and quoted texts of `program`, in order, without text that looks like a comment.

    No language is parsed: the quotes of most languages count, and white space within quotes separates tokens.
    """
    literals = list[str]()
    for match in _LITERAL.finditer(_COMMENT.sub("", program[:_MAX_CHARS])):
        quoted = next((text for name, text in match.groupdict().items() if text is not None and name != "number"), None)
        literals += [match["number"]] if quoted is None else split_tokens(_ESCAPE.sub(" ", quoted))
    return literals[:_MAX_TOKENS]


def split_tokens(text: str) -> list[str]:
    """The words of `text`, numbers without their sign, because a literal has none."""
    return [number[1] if (number := _NUMBER.fullmatch(word)) else word for word in text.split()]


def surprisal_bits(token: str) -> float:
    """The surprisal of meeting `token` in a program by chance, in bits: more for longer words and numbers.

    Trailing zeros add little; powers of ten and of two and their neighbours count as common.
    """
    if not _NUMBER.fullmatch(token):
        return min(4.0 * len(token), 40.0)
    digits = token.replace(".", "").strip("0")[:30]
    bits = math.log2(int(digits or 0) + 1) + math.log2(1 + len(token) - len(token.rstrip("0")))
    return min(bits, _COMMON_BITS) if _is_common(token) else bits


def _is_common(number: str) -> bool:
    if "." in number or len(number) > 30 or int(number) < 100:
        return False
    value = int(number)
    beside_ten = min(abs(value - 10 ** (len(number) + more)) for more in (-1, 0)) <= 10
    return beside_ten or any(near & (near - 1) == 0 for near in (value - 1, value, value + 1))
