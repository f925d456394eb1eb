"""Inputs of the problems: readers, which take them apart, and generators, which draw new ones."""

from __future__ import annotations

import string
from collections.abc import Callable, Sequence
from random import Random

Draw = Callable[[Random], str]
"""A generator of inputs, or of parts of them."""
DrawList = Callable[[Random], list[int]]
"""A generator of integers."""

LOWER, UPPER, LETTERS = string.ascii_lowercase, string.ascii_uppercase, string.ascii_letters
DIGITS, PUNCTUATION = string.digits, string.punctuation
VISIBLE = LETTERS + DIGITS + PUNCTUATION
CONSONANTS = "bcdfghjklmnpqrstvwxyz"


def nothing(_: str) -> tuple[()]:
    """No value."""
    return ()


def line(text: str) -> list[str]:
    """The first line."""
    return text.split("\n")[:1]


def lines(text: str) -> list[str]:
    """All lines."""
    return text.split("\n")


def numbers(text: str) -> list[int]:
    """All integers."""
    return [int(word) for word in text.split()]


def rows(text: str) -> list[list[int]]:
    """The integers of each line."""
    return [numbers(row) for row in lines(text)]


def fixed(*texts: str) -> Draw:
    """One of `texts`."""
    return lambda rng: rng.choice(texts)


def integer(low: int, high: int) -> Draw:
    """An integer from `low` to `high`."""
    return lambda rng: str(rng.randint(low, high))


def even(low: int, high: int, odd: int = 0) -> Draw:
    """An even integer from `low` to `high`, which are even; plus `odd`."""
    return lambda rng: str(rng.randrange(low, high + 1, 2) + odd)


def joined(separator: str, *parts: Draw) -> Draw:
    """A text of each of `parts`, with `separator` between them."""
    return lambda rng: separator.join([part(rng) for part in parts])


def spaced(*parts: Draw) -> Draw:
    """A text of each of `parts`, with spaces."""
    return joined(" ", *parts)


def stacked(*parts: Draw) -> Draw:
    """A line for each of `parts`."""
    return joined("\n", *parts)


def same(part: Draw, count: int = 2, separator: str = " ") -> Draw:
    """One text of `part`, `count` times."""
    return lambda rng: separator.join([part(rng)] * count)


def shuffled(separator: str, *parts: Draw) -> Draw:
    """As `joined`, in any order."""

    def draw(rng: Random) -> str:
        texts = [part(rng) for part in parts]
        rng.shuffle(texts)
        return separator.join(texts)

    return draw


def word(low: int, high: int, letters: str = LOWER) -> Draw:
    """From `low` to `high` of `letters`."""
    return lambda rng: "".join(rng.choices(letters, k=rng.randint(low, high)))


def repeated(low: int, high: int, part: Draw, separator: str = "") -> Draw:
    """From `low` to `high` texts of `part`."""
    return lambda rng: separator.join([part(rng) for _ in range(rng.randint(low, high))])


def sentence(low: int, high: int, letters: str = LOWER) -> Draw:
    """From `low` to `high` words, with single spaces."""
    return repeated(low, high, word(1, 7, letters), " ")


def gapped(letters: str = LETTERS) -> Draw:
    """Words with several spaces between them and before the first."""
    gap = word(2, 4, " ")
    return joined("", gap, word(1, 5, letters), gap, word(1, 5, letters))


def runs(low: int, high: int, longest: int, letters: str = LOWER, shortest: int = 1) -> Draw:
    """From `low` to `high` runs of a letter, each another than the one before."""

    def draw(rng: Random) -> str:
        text = ""
        for _ in range(rng.randint(low, high)):
            letter = rng.choice([each for each in letters if each != text[-1:]])
            text += letter * rng.randint(shortest, longest)
        return text

    return draw


def distinct(low: int, high: int, letters: str = LOWER) -> Draw:
    """From `low` to `high` different letters."""
    return lambda rng: "".join(rng.sample(letters, rng.randint(low, high)))


def mirrored(half: Draw, *, odd: bool) -> Draw:
    """A palindrome that begins with `half`; its last letter is once there if `odd`."""

    def draw(rng: Random) -> str:
        text = half(rng)
        return text + text[::-1][odd:]

    return draw


def changed(part: Draw, letters: str = LOWER) -> Draw:
    """A text of `part` with another of `letters` in one place."""

    def draw(rng: Random) -> str:
        text = part(rng)
        place = rng.randrange(len(text))
        letter = rng.choice([each for each in letters if each != text[place]])
        return text[:place] + letter + text[place + 1 :]

    return draw


def permuted(text: str, rng: Random) -> str:
    """The letters of `text` in any order."""
    return "".join(rng.sample(text, len(text)))


def values(low: int, high: int, smallest: int, largest: int) -> DrawList:
    """From `low` to `high` integers from `smallest` to `largest`."""
    return lambda rng: [rng.randint(smallest, largest) for _ in range(rng.randint(low, high))]


def different(low: int, high: int, smallest: int, largest: int) -> DrawList:
    """The same, all different."""
    return lambda rng: rng.sample(range(smallest, largest + 1), rng.randint(low, high))


def equal(low: int, high: int, smallest: int, largest: int) -> DrawList:
    """The same, all equal."""
    return lambda rng: [rng.randint(smallest, largest)] * rng.randint(low, high)


def ascending(part: DrawList) -> DrawList:
    """A list of `part` in ascending order."""
    return lambda rng: sorted(part(rng))


def descending(part: DrawList) -> DrawList:
    """A list of `part` in descending order."""
    return lambda rng: sorted(part(rng), reverse=True)


def row(part: DrawList) -> Draw:
    """A list of `part` on a line."""
    return lambda rng: show(part(rng))


def counted(part: DrawList) -> Draw:
    """The length of a list of `part`, and the list on the next line."""
    return lambda rng: with_count(part(rng))


def show(items: Sequence[int]) -> str:
    """The integers with spaces."""
    return " ".join(map(str, items))


def with_count(items: Sequence[int]) -> str:
    """The number of integers, and the integers on the next line."""
    return f"{len(items)}\n{show(items)}"
