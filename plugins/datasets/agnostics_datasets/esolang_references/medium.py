"""The reference solutions of the medium problems."""

from __future__ import annotations

from collections.abc import Callable
from itertools import groupby
from math import factorial, gcd
from random import Random

from agnostics_datasets.esolang_references.easy import VOWELS
from agnostics_datasets.esolang_references.inputs import (
    CONSONANTS,
    DIGITS,
    LETTERS,
    LOWER,
    UPPER,
    VISIBLE,
    Draw,
    DrawList,
    ascending,
    changed,
    counted,
    descending,
    different,
    distinct,
    equal,
    fixed,
    gapped,
    integer,
    joined,
    line,
    lines,
    mirrored,
    numbers,
    permuted,
    runs,
    same,
    sentence,
    shuffled,
    spaced,
    stacked,
    values,
    with_count,
    word,
)
from agnostics_datasets.esolang_references.reference import Reference

OPERATIONS: dict[str, Callable[[int, int], int]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
}


def shifted(text: str, by: int) -> str:
    """The lower-case letters of `text`, moved `by` places through the alphabet."""
    return "".join(LOWER[(LOWER.index(c) + by) % 26] for c in text)


def _run_lengths(text: str) -> str:
    return "".join(f"{letter}{len(list(run))}" for letter, run in groupby(text))


def _calculated(a: str, operation: str, b: str) -> int:
    return OPERATIONS[operation](int(a), int(b))


def _fibonacci(n: int) -> int:
    a, b = 0, 1
    for _ in range(n):
        a, b = b, a + b
    return a


def _occurrences(text: str, part: str) -> int:
    return sum(text.startswith(part, start) for start in range(len(text)))


def _with_twice_the_largest(rng: Random) -> str:
    items = rng.sample(range(1, 60), rng.randint(2, 5))
    items.append(max(items))
    rng.shuffle(items)
    return with_count(items)


def _at_least_two_values(part: DrawList) -> Draw:
    """A list of `part` with its length, and two more integers, so that its values are not all equal."""

    def draw(rng: Random) -> str:
        items = [*part(rng), *rng.sample(range(1, 10), 2)]
        rng.shuffle(items)
        return with_count(items)

    return draw


def _anagram(letters: str, low: int, high: int) -> Draw:
    def draw(rng: Random) -> str:
        text = word(low, high, letters)(rng)
        return f"{text}\n{permuted(text, rng)}"

    return draw


def _almost_an_anagram(rng: Random) -> str:
    """Two words of the same length that differ in one letter."""
    text = word(2, 8, "abcde")(rng)
    return f"{text}\n{permuted(changed(lambda _: text, 'abcde')(rng), rng)}"


def _longer_anagram(rng: Random) -> str:
    text = word(2, 6)(rng)
    return f"{text}\n{permuted(text + rng.choice(text), rng)}"


def _part_of_itself(letters: str) -> Draw:
    """A text and a part of it."""

    def draw(rng: Random) -> str:
        text = word(5, 9, letters)(rng)
        size = rng.randint(1, 3)
        start = rng.randint(0, len(text) - size)
        return f"{text}\n{text[start : start + size]}"

    return draw


def _two_words(letters: str, others: str, low: int = 2, high: int = 7) -> Draw:
    """Two words of the same length."""

    def draw(rng: Random) -> str:
        size = rng.randint(low, high)
        return f"{word(size, size, letters)(rng)}\n{word(size, size, others)(rng)}"

    return draw


def multiples(common: int, factor: int) -> Draw:
    """Two multiples of an integer of at most `common`, by at most `factor`."""

    def draw(rng: Random) -> str:
        divisor = rng.randint(2, common)
        return f"{divisor * rng.randint(2, factor)} {divisor * rng.randint(2, factor)}"

    return draw


def multiple_of_the_other(rng: Random) -> str:
    """An integer and a multiple of it, in any order."""
    small = rng.randint(2, 12)
    pair = [str(small), str(small * rng.randint(2, 9))]
    rng.shuffle(pair)
    return " ".join(pair)


MIXED_RUNS = (
    runs(2, 5, 4),
    distinct(3, 8),
    runs(1, 1, 9, shortest=2),
    runs(4, 7, 3, "ab"),
    runs(2, 3, 9, shortest=6),
    word(1, 1),
)
"""Words with runs of equal letters."""

MEDIUM = {
    "M01": Reference(
        line,
        lambda text: text == text[::-1],
        (
            mirrored(word(2, 4), odd=True),
            mirrored(word(2, 4), odd=False),
            changed(mirrored(word(3, 4), odd=False)),
            word(2, 7),
            joined("", word(1, 1, "ab"), fixed("x", "yy", "ziz"), word(1, 1, "AB")),
            mirrored(word(2, 4, VISIBLE), odd=True),
        ),
    ),
    "M02": Reference(
        line, lambda text: len(text.split()), (sentence(2, 3), sentence(4, 6), word(1, 9), sentence(7, 9))
    ),
    "M03": Reference(line, _run_lengths, MIXED_RUNS),
    "M04": Reference(
        line,
        lambda text: shifted(text, 3),
        (word(3, 7), word(2, 5, "vwxyz"), word(1, 1), word(8, 12), word(4, 7, "axz")),
    ),
    "M05": Reference(
        str.split,
        _calculated,
        (
            spaced(integer(1, 99), fixed("+"), integer(1, 99)),
            spaced(integer(50, 99), fixed("-"), integer(1, 49)),
            spaced(integer(2, 15), fixed("*"), integer(2, 15)),
            spaced(integer(1, 49), fixed("-"), integer(50, 99)),
            spaced(integer(-15, -1), fixed("+", "-", "*"), integer(0, 15)),
            spaced(integer(0, 15), fixed("+", "-", "*"), integer(0, 15)),
        ),
    ),
    "M06": Reference(
        numbers,
        gcd,
        (
            multiples(12, 9),
            spaced(integer(2, 60), integer(2, 60)),
            same(integer(2, 99)),
            multiple_of_the_other,
            shuffled(" ", fixed("1"), integer(2, 99)),
            multiples(6, 20),
        ),
    ),
    "M07": Reference(numbers, factorial, (integer(0, 10),)),
    "M08": Reference(numbers, _fibonacci, (integer(3, 9), integer(10, 14), integer(15, 20))),
    "M09": Reference(
        numbers,
        lambda n: f"{n:b}",
        (
            integer(2, 20),
            fixed("2", "4", "16", "32", "64", "128"),
            integer(21, 127),
            integer(128, 254),
            fixed("3", "7", "31", "63", "127"),
        ),
    ),
    "M10": Reference(
        line,
        lambda text: int(text, 2),
        (
            joined("", fixed("1"), word(1, 3, "01")),
            joined("", fixed("1"), word(1, 6, "0")),
            word(2, 7, "1"),
            joined("", fixed("1"), word(4, 7, "01")),
            joined("", word(1, 2, "0"), word(2, 5, "01")),
            joined("", fixed("1"), word(7, 7, "01")),
        ),
    ),
    "M11": Reference(
        lines,
        _occurrences,
        (
            stacked(word(4, 9, "a"), word(1, 3, "a")),
            _part_of_itself("ab"),
            _part_of_itself(LOWER),
            stacked(word(3, 8, "abcdefgh"), word(1, 3, "stuvwxyz")),
            stacked(word(7, 9, "xy"), fixed("xyx", "yxy", "xx", "yy", "xy")),
            stacked(word(1, 3, "ab"), word(4, 5, "ab")),
        ),
    ),
    "M12": Reference(
        line,
        lambda text: "".join(c for c in text if c not in VOWELS),
        (
            word(4, 9),
            word(3, 8, CONSONANTS),
            word(1, 8, VOWELS),
            word(5, 9, VOWELS + "xyzXYZ"),
            sentence(2, 4, LETTERS),
            word(5, 9, VISIBLE),
        ),
    ),
    "M13": Reference(
        numbers,
        lambda _, *items: sorted(items),
        (
            counted(values(4, 7, 0, 9)),
            counted(values(3, 6, -20, 20)),
            counted(values(1, 1, -20, 99)),
            counted(descending(different(3, 6, 1, 60))),
            counted(ascending(values(3, 6, 1, 60))),
            counted(equal(2, 5, -9, 99)),
        ),
    ),
    "M14": Reference(
        numbers,
        lambda _, *items: sorted({*items})[-2],
        (
            counted(different(3, 6, 1, 60)),
            _with_twice_the_largest,
            counted(different(2, 2, -20, 20)),
            _at_least_two_values(equal(2, 4, 1, 9)),
            counted(different(3, 6, -60, -1)),
            counted(ascending(different(3, 6, -20, 40))),
        ),
    ),
    "M15": Reference(
        lines,
        lambda a, b: sorted(a) == sorted(b),
        (
            _anagram(LOWER, 4, 8),
            _almost_an_anagram,
            same(word(1, 6), separator="\n"),
            _two_words(LOWER, LOWER),
            _anagram("abc", 4, 8),
            _longer_anagram,
        ),
    ),
    "M16": Reference(
        lines,
        lambda a, b: "".join(x + y for x, y in zip(a, b, strict=True)),
        (
            _two_words(LOWER, UPPER),
            _two_words(LOWER, DIGITS),
            _two_words(LOWER, LOWER, 1, 1),
            _two_words(LOWER, LOWER),
            _two_words("xy", "xy"),
            _two_words(VISIBLE, VISIBLE, 6, 9),
        ),
    ),
    "M17": Reference(
        line,
        lambda text: text.replace(" ", "_"),
        (sentence(2, 4), word(3, 9, VISIBLE), word(1, 5, " "), gapped(), sentence(5, 7, LETTERS), sentence(2, 2)),
    ),
    "M18": Reference(
        numbers,
        lambda _, *items: sum(items),
        (
            counted(values(3, 6, 1, 20)),
            counted(values(3, 6, -20, 20)),
            counted(values(1, 1, -99, 100)),
            counted(values(3, 6, -20, -1)),
            counted(equal(2, 6, 0, 9)),
            counted(values(2, 3, 40, 80)),
        ),
    ),
    "M19": Reference(
        line,
        lambda text: text[::2],
        (word(4, 8), word(1, 1, VISIBLE), word(5, 10, DIGITS), word(2, 3), sentence(2, 4), word(9, 13, VISIBLE)),
    ),
    "M20": Reference(
        line,
        lambda text: len({*text}),
        (
            word(2, 6, "abc"),
            distinct(10, 14),
            word(4, 8, "AaBbCc"),
            word(3, 9),
            word(3, 9, VISIBLE),
            word(1, 6, "z"),
        ),
    ),
}
