"""The reference solutions of the hard problems."""

from __future__ import annotations

import re
from collections import Counter
from itertools import count, groupby, islice, takewhile
from random import Random

from agnostics_datasets.esolang_references.inputs import (
    DIGITS,
    LETTERS,
    UPPER,
    VISIBLE,
    Draw,
    counted,
    different,
    equal,
    fixed,
    integer,
    joined,
    line,
    lines,
    numbers,
    repeated,
    rows,
    runs,
    sentence,
    shuffled,
    stacked,
    values,
    with_count,
    word,
)
from agnostics_datasets.esolang_references.medium import MIXED_RUNS, OPERATIONS, shifted
from agnostics_datasets.esolang_references.reference import Reference

_EMPTY = fixed("")
PAIRS_OF_BRACKETS = {")": "(", "]": "[", "}": "{"}


def is_balanced(text: str) -> bool:
    """Whether all brackets are closed, in order and by their own kind."""
    unclosed = list[str]()
    for bracket in text:
        if bracket not in PAIRS_OF_BRACKETS:
            unclosed.append(bracket)
        elif not unclosed or unclosed.pop() != PAIRS_OF_BRACKETS[bracket]:
            return False
    return not unclosed


def balanced(low: int, high: int, pairs: str = "()") -> Draw:
    """From `low` to `high` pairs of brackets, balanced."""

    def draw(rng: Random) -> str:
        text = ""
        for _ in range(rng.randint(low, high)):
            opening = rng.randrange(0, len(pairs), 2)
            start = rng.randint(0, len(text))
            end = rng.choice([i for i in range(start, len(text) + 1) if is_balanced(text[start:i])])
            text = f"{text[:start]}{pairs[opening]}{text[start:end]}{pairs[opening + 1]}{text[end:]}"
        return text

    return draw


def _product(factors: str) -> int:
    product = 1
    for factor in factors.split("*"):
        product *= int(factor)
    return product


def _calculated(text: str) -> int:
    """The sum of the products in an expression of +, - and *."""
    first, *others = re.split(r"([+-])", text)
    total = _product(first)
    for operation, factors in zip(others[::2], others[1::2], strict=True):
        total = OPERATIONS[operation](total, _product(factors))
    return total


def is_prime(n: int) -> bool:
    """Whether `n` is a prime number."""
    return n > 1 and all(n % divisor for divisor in range(2, int(n**0.5) + 1))


def _nth_prime(k: int) -> int:
    return next(islice(filter(is_prime, count(2)), k - 1, None))


def _longest_word(text: str) -> str:
    return max(text.split(" "), key=len)


def _common_prefix(_: str, *texts: str) -> str:
    same = takewhile(lambda letters: len({*letters}) == 1, zip(*texts, strict=False))
    return "".join(letters[0] for letters in same)


def _polynomial(_: list[int], coefficients: list[int], x: list[int]) -> int:
    result = 0
    for coefficient in coefficients:
        result = result * x[0] + coefficient
    return result


def _most_frequent(_: int, *items: int) -> int:
    counts = Counter(items)
    return min(items, key=lambda item: (-counts[item], item))


def _machine(text: str) -> int:
    return text.rpartition("0")[2].count("+") - text.rpartition("0")[2].count("-")


def _without_order(part: Draw) -> Draw:
    """The brackets of a text of `part` in any order."""

    def draw(rng: Random) -> str:
        text = part(rng)
        return "".join(rng.sample(text, len(text)))

    return draw


def _polynomials(low: int, high: int, smallest: int, largest: int, x: Draw) -> Draw:
    """Polynomials of a degree from `low` to `high`; the first coefficient is not 0."""

    def draw(rng: Random) -> str:
        degree = rng.randint(low, high)
        first = rng.choice([n for n in range(smallest, largest + 1) if n])
        others = [rng.randint(smallest, largest) for _ in range(degree)]
        return f"{degree}\n{' '.join(map(str, [first, *others]))}\n{x(rng)}"

    return draw


def _texts(low: int, high: int, part: Draw, before: Draw = _EMPTY) -> Draw:
    """The number of texts, and from `low` to `high` texts of `part`, all after one text of `before`."""

    def draw(rng: Random) -> str:
        first = before(rng)
        texts = [first + part(rng) for _ in range(rng.randint(low, high))]
        return "\n".join([str(len(texts)), *texts])

    return draw


def _prefixes_of_the_longest(rng: Random) -> str:
    text = word(5, 8)(rng)
    ends = rng.sample(range(2, len(text) + 1), rng.randint(2, 4))
    return "\n".join([str(len(ends)), *(text[:end] for end in ends)])


def _same_texts(rng: Random) -> str:
    size = rng.randint(2, 4)
    return "\n".join([str(size), *[word(2, 6)(rng)] * size])


def _with_tie(smallest: int, largest: int) -> Draw:
    """Two or three values, each equally often."""

    def draw(rng: Random) -> str:
        items = rng.sample(range(smallest, largest + 1), rng.randint(2, 3)) * rng.randint(1, 3)
        rng.shuffle(items)
        return with_count(items)

    return draw


_PRIMES = [n for n in range(2, 100) if is_prime(n)]
_SMALL, _LARGER = integer(1, 12), integer(5, 12)
_WORDS = _texts(2, 5, word(2, 7))

HARD = {
    "H01": Reference(
        line,
        is_balanced,
        (
            balanced(3, 6),
            joined("", balanced(1, 3), fixed(")"), balanced(0, 2), fixed("(")),
            balanced(2, 4),
            joined("", balanced(0, 2), fixed("("), balanced(1, 3)),
            _without_order(balanced(2, 4)),
            joined("", balanced(1, 3), fixed(")"), balanced(0, 2)),
        ),
    ),
    "H02": Reference(
        line,
        _calculated,
        (
            joined("+", _SMALL, joined("*", _SMALL, _SMALL)),
            joined("-", integer(50, 99), joined("*", *[integer(1, 7)] * 2)),
            joined("", _LARGER, fixed("*"), _LARGER, fixed("+", "-"), _SMALL, fixed("+", "-"), _SMALL),
            joined("", integer(100, 150), fixed("-"), integer(10, 50), fixed("+", "-"), integer(10, 50)),
            joined("", _LARGER, fixed("*"), _LARGER, fixed("+", "-"), integer(1, 5), fixed("*"), integer(1, 5)),
            joined("*", *[integer(1, 6)] * 3),
        ),
    ),
    "H03": Reference(
        numbers,
        lambda n: sum(map(is_prime, range(n + 1))),
        (
            integer(3, 9),
            fixed(*map(str, _PRIMES)),
            fixed(*(str(prime - 1) for prime in _PRIMES[2:])),
            integer(31, 60),
            integer(61, 99),
            fixed("4", "9", "25", "49", "81"),
        ),
    ),
    "H04": Reference(
        numbers,
        _nth_prime,
        (integer(2, 9), integer(8, 14), integer(16, 25)),
    ),
    "H05": Reference(
        numbers,
        lambda a, b: a + b,
        (
            stacked(word(2, 6, "1234"), word(2, 6, "1234")),
            shuffled("\n", word(2, 12, "9"), integer(1, 9)),
            shuffled(
                "\n", joined("", integer(1, 9), word(13, 17, DIGITS)), joined("", integer(1, 9), word(3, 9, DIGITS))
            ),
            shuffled("\n", fixed("0"), joined("", integer(1, 9), word(1, 8, DIGITS))),
            stacked(word(5, 9, "56789"), word(5, 9, "56789")),
            stacked(*[joined("", integer(1, 4), word(17, 17, DIGITS))] * 2),
        ),
    ),
    "H06": Reference(
        line,
        _longest_word,
        (
            sentence(3, 5),
            joined(" ", word(8, 10), sentence(2, 4)),
            joined(" ", sentence(2, 4), word(8, 10)),
            joined(" ", *[word(4, 4)] * 3),
            word(3, 9),
            joined(" ", word(1, 3), word(6, 6, LETTERS), word(6, 6, VISIBLE), word(1, 5)),
        ),
    ),
    "H07": Reference(
        lines,
        _common_prefix,
        (
            _texts(2, 4, word(2, 5, "abc"), before=word(1, 4)),
            _texts(2, 3, word(2, 6)),
            _prefixes_of_the_longest,
            _same_texts,
            _texts(1, 1, word(2, 7)),
            _texts(2, 4, joined("", word(1, 1), word(1, 3, LETTERS)), before=word(3, 6, LETTERS)),
        ),
    ),
    "H08": Reference(
        line,
        lambda text: [text.count(digit) for digit in DIGITS],
        (
            word(8, 14, DIGITS),
            word(5, 12, "048"),
            word(2, 9, "7"),
            word(1, 1, DIGITS),
            runs(3, 5, 4, DIGITS),
            joined("", word(7, 9, "6"), word(2, 5, "12357")),
        ),
    ),
    "H09": Reference(
        lines,
        lambda k, text: shifted(text, int(k)),
        (
            stacked(integer(1, 25), word(3, 7)),
            stacked(integer(1, 12), word(2, 5, "uvwxyz")),
            stacked(integer(-25, -1), word(3, 7)),
            stacked(integer(27, 60), word(3, 7)),
            stacked(integer(-60, -27), word(3, 7)),
            stacked(fixed("0", "26", "-26", "52"), word(3, 7)),
        ),
    ),
    "H10": Reference(line, lambda text: "".join(letter for letter, _ in groupby(text)), MIXED_RUNS),
    "H11": Reference(
        line,
        lambda text: "".join(letter * int(n) for letter, n in zip(text[::2], text[1::2], strict=True)),
        (
            repeated(2, 4, joined("", word(1, 1), integer(1, 4))),
            repeated(2, 5, joined("", word(1, 1), fixed("1"))),
            joined("", word(1, 1), integer(2, 9)),
            repeated(2, 3, joined("", word(1, 1), integer(8, 9))),
            repeated(3, 5, joined("", word(1, 1, "ab"), integer(1, 3))),
            repeated(2, 4, joined("", word(1, 1, UPPER + "!?#-"), integer(1, 5))),
        ),
    ),
    "H12": Reference(
        line,
        lambda text: sum(map(ord, text)),
        (word(1, 1, VISIBLE), word(2, 2, UPPER), word(3, 7), word(2, 5, DIGITS), sentence(2, 3), word(4, 8, VISIBLE)),
    ),
    "H13": Reference(
        rows,
        _polynomial,
        (
            _polynomials(2, 3, -3, 3, integer(2, 4)),
            _polynomials(1, 1, -9, 9, integer(-10, 10)),
            _polynomials(3, 4, 0, 2, integer(1, 3)),
            _polynomials(0, 0, -9, 9, integer(-50, 100)),
            _polynomials(2, 3, -3, 3, integer(-4, -1)),
            _polynomials(1, 3, -9, 9, fixed("0")),
        ),
    ),
    "H14": Reference(
        numbers,
        lambda n: [divisor for divisor in range(1, n + 1) if n % divisor == 0],
        (
            integer(2, 30),
            fixed(*map(str, _PRIMES)),
            fixed("4", "9", "16", "25", "49", "64", "81"),
            fixed("24", "30", "48", "60", "72", "84", "90", "96"),
            integer(31, 60),
            integer(61, 120),
        ),
    ),
    "H15": Reference(
        line,
        lambda text: text.count("R") - text.count("L"),
        (
            word(3, 9, "LR"),
            word(1, 9, "R"),
            word(1, 9, "L"),
            joined("", word(2, 4, "L"), word(5, 9, "R")),
            repeated(1, 4, fixed("LR", "RL", "LLRR", "RRLL")),
            joined("", word(7, 9, "L"), word(1, 4, "R")),
        ),
    ),
    "H16": Reference(line, lambda text: max(len(list(run)) for _, run in groupby(text)), MIXED_RUNS),
    "H17": Reference(
        numbers,
        _most_frequent,
        (
            counted(values(5, 8, 1, 4)),
            _with_tie(1, 9),
            counted(values(1, 1, 0, 60)),
            counted(equal(2, 5, 1, 60)),
            _with_tie(1, 20),
            counted(different(3, 5, 10, 60)),
        ),
    ),
    "H18": Reference(
        line,
        lambda text: int(text) % 3 == 0,
        (
            lambda rng: str(3 * rng.randint(1, 33)),
            lambda rng: str(3 * rng.randint(4, 33) + rng.randint(1, 2)),
            lambda rng: str(3 * rng.randint(40_000, 330_000_000)),
            lambda rng: str(3 * rng.randint(40_000, 330_000_000) + rng.randint(1, 2)),
            word(1, 1, "2345678"),
            word(2, 9, "258"),
        ),
    ),
    "H19": Reference(
        line,
        _machine,
        (
            word(3, 9, "+-"),
            joined("", word(2, 5, "+-"), fixed("0"), word(2, 5, "+-")),
            word(1, 6, "-"),
            joined("", word(2, 6, "+"), word(1, 3, "0")),
            word(6, 12, "+-0"),
            joined("", fixed("0", "-0"), word(6, 9, "+")),
        ),
    ),
    "H20": Reference(
        lines,
        lambda _, *texts: sorted(texts),
        (
            _WORDS,
            _texts(2, 4, word(0, 3, "ab"), before=word(1, 3)),
            _prefixes_of_the_longest,
            _same_texts,
            _texts(3, 5, word(1, 4, "abAB")),
            _texts(1, 1, word(2, 7)),
        ),
    ),
}
