"""The forms of input of starter tasks."""

from __future__ import annotations

from random import Random
from string import ascii_lowercase
from typing import Any

from agnostics_datasets.starter.family import Form

Drawn = tuple[str, tuple[Any, ...]]
LETTERS = "abcdefgh"


def _integer(rng: Random, wide: bool) -> Drawn:
    n = rng.randint(-999, 999) if wide else rng.randint(0, 99)
    return f"{n}\n", (n,)


def _positive(rng: Random, wide: bool) -> Drawn:
    n = rng.randint(100, 2000) if wide else rng.randint(1, 60)
    return f"{n}\n", (n,)


def _small(rng: Random, wide: bool) -> Drawn:
    n = rng.randint(13, 30) if wide else rng.randint(1, 12)
    return f"{n}\n", (n,)


def _numbers(rng: Random, wide: bool) -> list[int]:
    low, high = (-50, 50) if wide else (1, 20)
    length = rng.choice((1, 2, 10, 12, 15)) if wide else rng.randint(3, 8)
    return [rng.randint(low, high) for _ in range(length)]


def _list(rng: Random, wide: bool) -> Drawn:
    numbers = _numbers(rng, wide)
    return f"{len(numbers)}\n{' '.join(map(str, numbers))}\n", (numbers,)


def _separated(rng: Random, wide: bool) -> Drawn:
    numbers = _numbers(rng, wide)
    return "{sep}".join(map(str, numbers)) + "\n", (numbers,)


def _letters(rng: Random, wide: bool) -> str:
    length = rng.choice((1, 2, 11, 14, 18)) if wide else rng.randint(3, 8)
    return "".join(rng.choices(ascii_lowercase if wide else LETTERS, k=length))


def _word(rng: Random, wide: bool) -> Drawn:
    word = _letters(rng, wide)
    return f"{word}\n", (word,)


def _line(rng: Random, wide: bool) -> Drawn:
    words = [_letters(rng, wide) for _ in range(rng.choice((1, 2, 8, 11)) if wide else rng.randint(3, 6))]
    return f"{' '.join(words)}\n", (words,)


def _clock(rng: Random, wide: bool) -> Drawn:
    minutes = rng.randrange(20 * 60, 24 * 60) if wide else rng.randrange(1, 20 * 60)
    return f"{minutes // 60:02}:{minutes % 60:02}\n", (minutes,)


INTEGER = Form(
    ("Read an integer n.", "You are given an integer n.", "The input is one integer n.", "An integer n is given."),
    _integer,
)
POSITIVE = Form(
    (
        "Read a positive integer n.",
        "You are given a positive integer n.",
        "The input is one positive integer n.",
        "A positive integer n is given.",
    ),
    _positive,
)
SMALL = Form(POSITIVE.openings, _small)
LIST = Form(
    (
        "Read a count m and then m integers.",
        "The first line holds m, the second line m integers.",
        "You are given m, and on the next line m integers.",
        "The input is an integer m, followed by m integers.",
    ),
    _list,
)
SEPARATED = Form(
    (
        "Read a line of integers separated by '{sep}'.",
        "You are given integers on one line with '{sep}' between them.",
        "The input is one line of integers, separated by '{sep}'.",
        "Integers are given on one line, split by '{sep}'.",
    ),
    _separated,
)
WORD = Form(
    (
        "Read a word s of lower-case letters.",
        "You are given a word s of lower-case letters.",
        "The input is one lower-case word s.",
        "A lower-case word s is given.",
    ),
    _word,
)
LINE = Form(
    (
        "Read a line of words.",
        "You are given words on one line.",
        "The input is one line of words separated by spaces.",
        "A line holds words with a space between them.",
    ),
    _line,
)
CLOCK = Form(
    (
        "Read a time of day as hh:mm.",
        "You are given a time in the form hh:mm.",
        "The input is a time hh:mm between 00:00 and 23:59.",
        "A time of day hh:mm is given.",
    ),
    _clock,
)
