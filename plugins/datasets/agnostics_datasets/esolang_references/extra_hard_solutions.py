"""Solutions of the extra hard problems."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from itertools import accumulate, combinations

from agnostics_datasets.esolang_references.medium import OPERATIONS as THREE_OPERATIONS


def prime_factors(n: int) -> list[int]:
    """The prime factors in ascending order."""
    factors, divisor = list[int](), 2
    while n > 1:
        while n % divisor == 0:
            factors.append(divisor)
            n //= divisor
        divisor += 1
    return factors


def longest_increasing(_: int, *items: int) -> int:
    """By patience sorting: the smallest last value of an increasing subsequence of each length."""
    ends = list[int]()
    for item in items:
        place = bisect_left(ends, item)
        ends[place : place + 1] = [item]
    return len(ends)


def element_of_product(size: list[int], *parts: list[int]) -> int:
    """The element at a place in the product of two matrices."""
    count, (i, j) = size[0], parts[-1]
    return sum(a * b[j] for a, b in zip(parts[i], parts[count:-1], strict=True))


def divided(a: int, b: int) -> int:
    """a / b towards zero."""
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


OPERATIONS: dict[str, Callable[[int, int], int]] = {**THREE_OPERATIONS, "/": divided}


def postfix(*words: str) -> int:
    """The value of a postfix expression."""
    stack = list[int]()
    for each in words:
        if operation := OPERATIONS.get(each):
            b, a = stack.pop(), stack.pop()
            stack.append(operation(a, b))
        else:
            stack.append(int(each))
    return stack.pop()


def longest_palindrome(text: str) -> int:
    """The length of the longest palindrome in `text`."""
    parts = (text[start:end] for start, end in combinations(range(len(text) + 1), 2))
    return max(len(part) for part in parts if part == part[::-1])


def depths(text: str) -> list[int]:
    """The depth after each bracket; one that closes nothing changes nothing."""
    return list(accumulate(text, lambda depth, c: depth + 1 if c == "(" else max(0, depth - 1), initial=0))


def is_undisputed(text: str) -> bool:
    """Whether the deepest nesting is the same if a bracket that closes nothing counts as less than nothing."""
    return max(depths(text)) == max(accumulate(text, lambda depth, c: depth + (1 if c == "(" else -1), initial=0))


def rotations(text: str, other: str) -> bool:
    """Whether `other` is a rotation of `text`."""
    return len(text) == len(other) and other in text * 2


def inversions(_: int, *items: int) -> int:
    """The number of pairs in descending order."""
    return sum(a > b for a, b in combinations(items, 2))


def next_greater(_: int, *items: int) -> list[int]:
    """The next greater integer after each, or -1."""
    return [next((later for later in items[i:] if later > item), -1) for i, item in enumerate(items)]


def spiral(_: list[int], *matrix: list[int]) -> list[int]:
    """The elements from the outside to the inside, clockwise."""
    result, left = list[int](), [list(line) for line in matrix]
    while left:
        result += left.pop(0)
        left = [list(column) for column in zip(*left, strict=True)][::-1]
    return result


ROMAN = {
    "M": 1000, "CM": 900, "D": 500, "CD": 400, "C": 100, "XC": 90, "L": 50, "XL": 40, "X": 10, "IX": 9, "V": 5, "IV": 4,
    "I": 1,
}  # fmt: skip


def roman(n: int) -> str:
    """The Roman numeral of `n`."""
    text = ""
    for letters, value in ROMAN.items():
        text += letters * (n // value)
        n %= value
    return text


def from_roman(text: str) -> int:
    """The integer of a Roman numeral."""
    parts = [ROMAN[letter] for letter in text]
    return sum(-a if a < b else a for a, b in zip(parts, [*parts[1:], 0], strict=True))


def survivor(n: int, k: int) -> int:
    """The last of `n` in a circle, of whom every `k`th leaves."""
    place = 0
    for size in range(2, n + 1):
        place = (place + k) % size
    return place + 1
