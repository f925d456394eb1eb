"""Families on a list of numbers, which `starter` does not have."""

from __future__ import annotations

from itertools import accumulate, combinations, pairwise

from agnostics_datasets.starter.family import TaskFamily
from agnostics_datasets.starter.forms import LIST
from agnostics_datasets.starter_families.forms import COUNTS, REPEATING, RISING, SEVERAL, STREAM

_FROM_2 = range(2, 18)
SEPARATORS = (",", ";", ":", "/", "|", "&", "-", "+", "=", "_", "#", "~", ".", "!", "?", "^")
WORDS = ("fine", "good", "okay", "right", "done", "true", "well", "yes", "nice", "great", "agreed", "sure")


def _rotated(t: list[int], k: int) -> list[int]:
    start = k % len(t)
    return t[start:] + t[:start]


def _added_until(t: list[int], k: int) -> int:
    return next((count for count, total in enumerate(accumulate(t), 1) if total > k), 0)


FAMILIES = (
    TaskFamily(
        "spread",
        LIST,
        (
            "Print the difference between the largest and the smallest of them, times {k}.",
            "Subtract the minimum from the maximum and print {k} times the result.",
        ),
        lambda t, k: (max(t) - min(t)) * k,
        {"k": _FROM_2},
    ),
    TaskFamily(
        "running_totals",
        LIST,
        (
            "Start with the total {k}. Add the integers one after the other and print the total after each, on one"
            " line.",
            "Print the running totals of the integers on one line, each {k} higher than the plain sum so far.",
        ),
        lambda t, k: [total + k for total in accumulate(t)],
        {"k": _FROM_2},
    ),
    TaskFamily(
        "neighbour_differences",
        SEVERAL,
        (
            "For each integer but the first, print {k} times the difference to the one before it (it minus the one"
            " before), on one line.",
            "Subtract each integer from the next one and print the differences, each times {k}, on one line.",
        ),
        lambda t, k: [(b - a) * k for a, b in pairwise(t)],
        {"k": _FROM_2},
    ),
    TaskFamily(
        "every_kth",
        SEVERAL,
        (
            "Print the integers at the places 1, 1 + {k}, 1 + {k} + {k} and so on, on one line.",
            "Print the first integer, then always skip to the one {k} places further, all on one line.",
        ),
        lambda t, k: t[::k],
        {"k": range(2, 8)},
    ),
    TaskFamily(
        "rotated",
        SEVERAL,
        (
            "Move the first integer to the end of the list, {k} times in all, and print the list on one line.",
            "Rotate the list to the left by {k} places and print it on one line.",
        ),
        _rotated,
        {"k": range(1, 9)},
    ),
    TaskFamily(
        "distinct_count",
        REPEATING,
        (
            "Print how many different integers there are, plus {k}.",
            "Count each value only once; print {k} more than the count.",
        ),
        lambda t, k: len(set(t)) + k,
        {"k": _FROM_2},
    ),
    TaskFamily(
        "distinct_join",
        COUNTS,
        (
            "Print each value once, in the order in which it first occurs, joined by '{sep}'.",
            "Leave out every integer that has occurred before and print the others with '{sep}' between them.",
        ),
        lambda t, sep: sep.join(map(str, dict.fromkeys(t))),
        {"sep": SEPARATORS},
    ),
    TaskFamily(
        "in_order",
        RISING,
        (
            "Print {w} if no integer is smaller than the one before it, else no.",
            "Print {w} if the integers are sorted from small to large (equal ones may follow each other), else no.",
        ),
        lambda t, w: w if t == sorted(t) else "no",
        {"w": WORDS},
    ),
    TaskFamily(
        "alternating",
        LIST,
        (
            "Subtract the second from the first, add the third, subtract the fourth and so on; print the result plus"
            " {k}.",
            "Add the integers at odd places (first, third, ...), subtract those at even places, and print {k} more.",
        ),
        lambda t, k: sum(t[::2]) - sum(t[1::2]) + k,
        {"k": _FROM_2},
    ),
    TaskFamily(
        "sum_first",
        LIST,
        (
            "Print the sum of the first {k} integers, or of all if there are fewer.",
            "Add up at most {k} integers from the start of the list and print the sum.",
        ),
        lambda t, k: sum(t[:k]),
        {"k": range(2, 9)},
    ),
    TaskFamily(
        "added_until",
        COUNTS,
        (
            "Add up the integers in order until the sum is greater than {k}. Print how many were added, or 0 if the"
            " sum of all is not greater.",
            "Print how many integers from the start are needed for a sum above {k}, or 0 if all are not enough.",
        ),
        _added_until,
        {"k": range(8, 24)},
    ),
    TaskFamily(
        "bars",
        COUNTS,
        (
            "For each integer print a line that holds that many letters {c}.",
            "Print a bar of {c} for each integer, one per line; its length is the integer.",
        ),
        lambda t, c: "\n".join(c * x for x in t),
        {"c": tuple("abcdefxyz")},
    ),
    TaskFamily(
        "second_largest",
        SEVERAL,
        (
            "Sort the integers and print the last but one, plus {k}.",
            "Take away one copy of the largest integer, and print {k} plus the largest of the others.",
        ),
        lambda t, k: sorted(t)[-2] + k,
        {"k": _FROM_2},
    ),
    TaskFamily(
        "pair_with_sum",
        SEVERAL,
        (
            "Print YES if two of the integers (at different places) add up to {k}, else NO.",
            "Are there two integers in the list whose sum is {k}? Print YES or NO.",
        ),
        lambda t, k: any(a + b == k for a, b in combinations(t, 2)),
        {"k": range(12, 28)},
    ),
    TaskFamily(
        "remainder_count",
        COUNTS,
        (
            "Print how many of them leave the remainder 1 when they are divided by {k}.",
            "Count the integers that are 1 modulo {k}.",
        ),
        lambda t, k: sum(x % k == 1 for x in t),
        {"k": range(2, 8)},
    ),
    TaskFamily(
        "largest_place",
        SEVERAL,
        (
            "Print the place of the largest integer (the first of them if there are several), where the first place"
            " has the number {k}.",
            "Number the integers from {k} on and print the number of the first largest one.",
        ),
        lambda t, k: t.index(max(t)) + k,
        {"k": range(2, 14)},
    ),
    TaskFamily(
        "stream_sum",
        STREAM,
        ("Print the sum of them all, plus {k}.", "Add up all lines and print {k} more than the sum."),
        lambda t, k: sum(t) + k,
        {"k": _FROM_2},
    ),
    TaskFamily(
        "stream_count_below",
        STREAM,
        ("Print how many of them are less than {k}.", "Count the lines whose integer is below {k}."),
        lambda t, k: sum(x < k for x in t),
        {"k": range(4, 18)},
    ),
    TaskFamily(
        "stream_last",
        STREAM,
        ("Print the last of them, times {k}.", "Multiply the integer of the last line by {k} and print it."),
        lambda t, k: t[-1] * k,
        {"k": _FROM_2},
    ),
)
