"""The reference solutions of the easy problems."""

from __future__ import annotations

from agnostics_datasets.esolang_references.inputs import (
    CONSONANTS,
    DIGITS,
    LETTERS,
    LOWER,
    PUNCTUATION,
    UPPER,
    VISIBLE,
    even,
    fixed,
    gapped,
    integer,
    joined,
    line,
    lines,
    mirrored,
    nothing,
    numbers,
    repeated,
    same,
    sentence,
    shuffled,
    spaced,
    stacked,
    word,
)
from agnostics_datasets.esolang_references.reference import Reference

VOWELS = "aeiouAEIOU"
_NAME = joined("", word(1, 1, UPPER), word(1, 7))
_SIGNED = (
    spaced(integer(1, 60), integer(1, 60)),
    spaced(integer(-60, -1), integer(1, 60)),
    spaced(integer(1, 60), integer(-60, -1)),
    spaced(integer(-60, -1), integer(-60, -1)),
    shuffled(" ", fixed("0"), integer(-99, 99)),
)
_TEXTS = (
    word(2, 8),
    word(1, 6, PUNCTUATION),
    sentence(2, 5, VISIBLE),
    gapped(),
    word(1, 1, VISIBLE),
    word(8, 14, VISIBLE),
)


def _half(a: int, b: int) -> int:
    """(a + b) / 2 towards zero."""
    return abs(a + b) // 2 * (1 if a + b > 0 else -1)


def _order(a: int, b: int) -> str:
    return "less" if a < b else "greater" if a > b else "equal"


def _upper(text: str) -> str:
    return "".join(c.upper() if c in LOWER else c for c in text)


EASY = {
    "E01": Reference(nothing, lambda: "Hello World!"),
    "E02": Reference(line, lambda text: text, (*_TEXTS[:5], fixed(""))),
    "E03": Reference(
        line,
        lambda name: f"Hello, {name}!",
        (_NAME, word(2, 6), spaced(_NAME, _NAME), word(1, 4, DIGITS), word(1, 1, LETTERS), word(3, 8, LETTERS)),
    ),
    "E04": Reference(numbers, lambda a, b: a + b, (*_SIGNED, spaced(integer(500, 999), integer(1, 999)))),
    "E05": Reference(
        numbers,
        lambda a, b: a * b,
        (
            spaced(integer(2, 15), integer(2, 15)),
            spaced(integer(-15, -2), integer(2, 15)),
            spaced(integer(2, 15), integer(-15, -2)),
            spaced(integer(-15, -2), integer(-15, -2)),
            shuffled(" ", fixed("0"), integer(-60, 60)),
            shuffled(" ", integer(2, 4), integer(20, 60)),
        ),
    ),
    "E06": Reference(
        numbers,
        lambda n: "odd" if n % 2 else "even",
        (
            even(2, 98),
            even(0, 98, odd=1),
            even(-98, -2),
            even(-98, -2, odd=-1),
            even(100, 2000),
            even(100, 2000, odd=1),
        ),
    ),
    "E07": Reference(line, len, _TEXTS),
    "E08": Reference(
        line,
        lambda text: text[::-1],
        (
            word(3, 8),
            sentence(2, 4),
            word(3, 8, DIGITS),
            word(2, 2),
            mirrored(word(2, 4), odd=True),
            word(3, 8, VISIBLE),
        ),
    ),
    "E09": Reference(
        line,
        lambda text: sum(c in VOWELS for c in text),
        (
            word(4, 9),
            word(3, 9, CONSONANTS),
            word(3, 9, VOWELS),
            sentence(2, 4, LETTERS),
            word(3, 9, "aeiouAEIOUbcxyz"),
            word(8, 9, VOWELS),
        ),
    ),
    "E10": Reference(numbers, lambda n: n * (n + 1) // 2, (integer(2, 9), integer(11, 60), integer(61, 120))),
    "E11": Reference(
        numbers,
        lambda n: sum(map(int, str(abs(n)))),
        (
            integer(100, 99999),
            integer(-99999, -100),
            joined("", integer(1, 9), fixed("0", "00"), integer(1, 9)),
            integer(1, 9),
            joined("", fixed("-9", "9"), word(1, 4, "89")),
            integer(-9, -1),
        ),
    ),
    "E12": Reference(
        numbers,
        min,
        (
            spaced(integer(1, 20), integer(21, 99)),
            spaced(integer(21, 99), integer(1, 20)),
            same(integer(-60, 60)),
            spaced(integer(-60, -1), integer(-60, -1)),
            shuffled(" ", integer(-60, -1), integer(1, 60)),
            shuffled(" ", fixed("0"), integer(-60, 60)),
        ),
    ),
    "E13": Reference(
        numbers,
        max,
        (
            shuffled(" ", integer(1, 9), integer(10, 49), integer(50, 99)),
            shuffled(" ", integer(-60, -1), integer(0, 60), integer(1, 60)),
            spaced(*[integer(-60, -1)] * 3),
            shuffled(" ", same(integer(10, 60)), integer(-9, 9)),
            same(integer(-60, 60), 3),
            spaced(*[integer(-60, 100)] * 3),
        ),
    ),
    "E14": Reference(
        lines,
        lambda n, text: int(n) * text,
        (
            stacked(integer(2, 6), word(1, 5)),
            stacked(integer(2, 6), word(1, 3, DIGITS)),
            stacked(fixed("0"), word(1, 6)),
            stacked(fixed("1"), word(2, 6, VISIBLE)),
            stacked(integer(2, 5), joined(" ", word(1, 3), word(1, 3))),
            stacked(integer(7, 9), word(1, 2)),
        ),
    ),
    "E15": Reference(
        lines,
        lambda a, b: f"{a} {b}",
        (
            stacked(word(2, 8), word(2, 8)),
            stacked(_NAME, _NAME),
            stacked(word(1, 5, DIGITS), word(1, 5, DIGITS)),
            stacked(sentence(2, 3), sentence(2, 3)),
            stacked(word(1, 1), word(1, 1)),
            stacked(gapped(), word(1, 6, VISIBLE)),
        ),
    ),
    "E16": Reference(
        line,
        lambda text: f"{text[0]} {text[-1]}",
        (word(3, 9), word(1, 1, LETTERS), word(2, 2), word(3, 7, DIGITS), sentence(2, 4), word(3, 9, VISIBLE)),
    ),
    "E17": Reference(
        line,
        _upper,
        (
            word(2, 9),
            word(3, 9, LETTERS),
            word(3, 9, VISIBLE),
            word(3, 9, UPPER),
            sentence(2, 4, LETTERS),
            joined("", word(2, 4, "@[`{"), word(2, 4, "azAZ")),
        ),
    ),
    "E18": Reference(
        line,
        lambda text: text.count(" "),
        (
            sentence(2, 5),
            word(4, 12, LOWER + "_"),
            word(1, 5, " "),
            gapped(),
            sentence(6, 9),
            repeated(2, 6, word(1, 1), " "),
        ),
    ),
    "E19": Reference(
        numbers,
        _half,
        (
            spaced(even(2, 60), even(2, 60)),
            spaced(even(2, 60), even(2, 60, odd=1)),
            spaced(even(-60, -2), even(-60, -2)),
            spaced(even(-60, -2), even(-60, -2, odd=1)),
            shuffled(" ", integer(-60, -30), integer(1, 29)),
            spaced(integer(100, 250), integer(100, 250)),
        ),
    ),
    "E20": Reference(
        numbers,
        _order,
        (
            spaced(integer(-9, 30), integer(31, 99)),
            spaced(integer(31, 99), integer(-9, 30)),
            same(integer(1, 99)),
            same(integer(-60, -1)),
            spaced(integer(-60, -1), integer(-60, -1)),
            spaced(integer(9, 11), integer(9, 11)),
        ),
    ),
}
