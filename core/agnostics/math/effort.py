r"""The effort to compute a prediction, as its text shows it, so that a hard one is `different` and not `unknown`.

A final answer is computed: a sum that is not, a tower of powers or the factorial of a huge number is none, unless the
gold answer has its like. What passes here may still be stopped at the limit of processor time.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import accumulate
from math import prod

MAX_CHARACTERS = 1000
"""The length of a prediction, unless the gold answer has half of it."""
MAX_DEPTH = 12
"""The depth of brackets in each other."""
MAX_NUMBER = 10_000
"""The largest exponent, and the largest number whose factorial is taken or of which a binomial chooses."""
MAX_FACTORS = 12
"""The factors in parentheses, in an answer with variables, whose product sympy multiplies out: `(x+y)^9` has nine."""

_SPACING = re.compile(r"\\(?:left|right)(?![A-Za-z])|\\[,!;: ]|\{,\}|\s+|(?<=\d),(?=\d)")
_VARIABLE = re.compile(r"(?<![A-Za-z\\])[A-Za-z]")
_HARD = re.compile(
    r"""\\(?:i?int|oint|sum|prod|lim)(?![A-Za-z])   # not evaluated
    | !!! | (?:!|\^\{?\d+)[)}\]]+(?:!|\^\{?\d{3})   # a factorial or a power, of one
    | \^\{[^{}^]*\^\{[^{}^]*\^ | (?:\\exp\W*){3}    # a tower
    | \\[dt]?binom\{[^{}\d]+\}\{\d{3}               # a polynomial of a degree in the hundreds
    """,
    re.VERBOSE,
)
_TAKEN = re.compile(r"(?<!\d)(\d++)[)}\]]*!|binom\{(\d+)\}")
_POWER = re.compile(r"([)\]]|matrix\})?(?:\^|\*\*)(\{(?:[^{}]|\{[^{}]*\})*+\}|\(?-?\d+|.)")
_NESTED_POWER = re.compile(r"(?<!\d)(\d++)\^\{?(\d+)")
_EXPONENT_OF_FACTORIAL = re.compile(r"[89]!|\d\d!")
_DEPTHS = {**dict.fromkeys("([{", 1), **dict.fromkeys(")]}", -1)}


def is_too_hard(prediction: str, gold: str) -> bool:
    """Whether a prediction takes too much effort, and the gold answer does not."""
    if len(prediction) > max(MAX_CHARACTERS, 2 * len(gold)):
        return True
    return _is_hard(prediction) and not _is_hard(gold)


def _is_hard(answer: str) -> bool:
    text = _SPACING.sub("", answer)
    if max(accumulate((_DEPTHS.get(character, 0) for character in text), initial=0)) > MAX_DEPTH or _HARD.search(text):
        return True
    taken = (match[1] or match[2] for match in _TAKEN.finditer(text))
    exponents = [(match[1], _size(match[2])) for match in _POWER.finditer(text)]
    if _largest(taken) > MAX_NUMBER or max((size for _, size in exponents), default=0) > MAX_NUMBER:
        return True
    factors = text.count(")(") + sum(size for group, size in exponents if group)
    return factors > MAX_FACTORS and _VARIABLE.search(text) is not None


def _size(exponent: str) -> int:
    """A rough upper bound of an exponent, by its numbers."""
    if _EXPONENT_OF_FACTORIAL.search(exponent):
        return MAX_NUMBER + 1
    powers = (_integer(base) ** min(_integer(power), 32) for base, power in _NESTED_POWER.findall(exponent))
    numbers = [_integer(number) for number in re.findall(r"\d+", exponent)]
    is_product = re.search(r"\\cdot|\\times|\*|\)\(", exponent)
    return max(0, *powers, prod(numbers) if is_product else max(numbers, default=0))


def _largest(numbers: Iterable[str]) -> int:
    return max(map(_integer, numbers), default=0)


def _integer(digits: str) -> int:
    """The number, cut off at nine digits: Python refuses thousands of them."""
    return int(digits[:9])
