"""Generators of inputs of the extra hard problems."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from agnostics_datasets.esolang_references.extra_hard_solutions import OPERATIONS, is_undisputed, roman, rotations
from agnostics_datasets.esolang_references.inputs import (
    LOWER,
    Draw,
    DrawList,
    changed,
    distinct,
    permuted,
    show,
    with_count,
    word,
)

MOST_IN_POSTFIX = 255


def matrix(height: int, width: int, rng: Random, smallest: int = 1, largest: int = 9) -> str:
    """A matrix of integers, a row on each line."""
    return "\n".join(show([rng.randint(smallest, largest) for _ in range(width)]) for _ in range(height))


def matrices(low: int, high: int, smallest: int, largest: int) -> Draw:
    """Two matrices that can be multiplied, and a place in their product."""

    def draw(rng: Random) -> str:
        m, n, p = (rng.randint(low, high) for _ in range(3))
        a, b = matrix(m, n, rng, smallest, largest), matrix(n, p, rng, smallest, largest)
        return f"{m} {n} {p}\n{a}\n{b}\n{rng.randrange(m)} {rng.randrange(p)}"

    return draw


def framed(heights: tuple[int, int], widths: tuple[int, int]) -> Draw:
    """A matrix after its height and width."""

    def draw(rng: Random) -> str:
        height, width = rng.randint(*heights), rng.randint(*widths)
        return f"{height} {width}\n{matrix(height, width, rng)}"

    return draw


def square(low: int, high: int) -> Draw:
    """A square matrix after its height and width."""

    def draw(rng: Random) -> str:
        size = rng.randint(low, high)
        return f"{size} {size}\n{matrix(size, size, rng)}"

    return draw


def postfix_of(low: int, high: int, operations: str, *, inexact: bool = False) -> Draw:
    """A postfix expression of from `low` to `high` operations, one of which is an inexact division if `inexact`."""

    def draw(rng: Random) -> str:
        while True:
            words, rounded = random_postfix(rng, rng.randint(low, high), operations)
            if rounded == inexact:
                return " ".join(words)

    return draw


def random_postfix(rng: Random, count: int, operations: str) -> tuple[list[str], bool]:
    """A postfix expression without large numbers or division by zero, and whether a division in it is inexact."""
    words, stack, rounded = list[str](), list[int](), False
    while count or len(stack) > 1:
        if len(stack) > 1 and (not count or rng.random() < 0.5):
            b, a = stack.pop(), stack.pop()
            allowed = [each for each in operations if is_harmless(each, a, b)] or ["-"]
            words.append(rng.choice(allowed))
            rounded = rounded or (words[-1] == "/" and a % b != 0)
            stack.append(OPERATIONS[words[-1]](a, b))
        else:
            words.append(str(rng.randint(0 if stack else 1, 9)))
            stack.append(int(words[-1]))
            count -= len(stack) > 1
    return words, rounded


def is_harmless(operation: str, a: int, b: int) -> bool:
    """Whether the operation gives no large number and does not divide by zero."""
    return bool(b) if operation == "/" else abs(OPERATIONS[operation](a, b)) <= MOST_IN_POSTFIX


def rounded_below_zero(rng: Random) -> str:
    """A division of a negative number that is inexact."""
    small, large = sorted(rng.sample(range(1, 10), 2))
    divisor = rng.choice([n for n in range(2, 9) if (large - small) % n])
    return f"{small} {large} - {divisor} /"


def undisputed(part: Draw) -> Draw:
    """Texts of `part` whose answer is the same by the statement and by the published tests."""

    def draw(rng: Random) -> str:
        while not is_undisputed(text := part(rng)):
            pass
        return text

    return draw


def rotated(part: Draw) -> Draw:
    """A text of `part` and a rotation of it."""

    def draw(rng: Random) -> str:
        text = part(rng)
        by = rng.randrange(len(text))
        return f"{text}\n{text[by:]}{text[:by]}"

    return draw


def permuted_word(rng: Random) -> str:
    """A word and its letters in another order, which is no rotation."""
    text = distinct(4, 7)(rng)
    while rotations(text, other := permuted(text, rng)):
        pass
    return f"{text}\n{other}"


def almost_rotated(rng: Random) -> str:
    """A word, and a rotation of it with another letter in one place."""
    text, other = rotated(word(3, 7))(rng).split("\n")
    return f"{text}\n{changed(lambda _: other, LOWER)(rng)}"


def from_one(rng: Random, low: int = 2, high: int = 7) -> list[int]:
    """The integers from 1, in any order."""
    size = rng.randint(low, high)
    return rng.sample(range(1, size + 1), size)


def broken(change: Callable[[list[int], Random], None]) -> Draw:
    """A permutation with one number changed by `change`."""

    def draw(rng: Random) -> str:
        items = from_one(rng)
        change(items, rng)
        return with_count(items)

    return draw


def repeat_one(items: list[int], rng: Random) -> None:
    """Repeat an integer instead of another one."""
    first, second = rng.sample(range(len(items)), 2)
    items[first] = items[second]


def one_too_large(items: list[int], rng: Random) -> None:
    """Put one that is too large."""
    items[rng.randrange(len(items))] = len(items) + 1


def one_is_zero(items: list[int], rng: Random) -> None:
    """Put a zero."""
    items[rng.randrange(len(items))] = 0


def as_roman(part: Draw) -> Draw:
    """An integer of `part` as a Roman numeral."""
    return lambda rng: roman(int(part(rng)))


def pair_in_order(rng: Random, part: DrawList) -> str:
    """The integers of `part` in ascending order."""
    return show(sorted(part(rng)))
