"""Families on two or three numbers."""

from __future__ import annotations

import math

from agnostics_datasets.starter.family import TaskFamily
from agnostics_datasets.starter_families.forms import NATURAL_PAIR, PAIR, RANGE, TRIPLE
from agnostics_datasets.starter_families.series import SEPARATORS

_FROM_2 = range(2, 18)

FAMILIES = (
    TaskFamily(
        "pair_sum_times",
        PAIR,
        ("Print the sum of a and b, times {k}.", "Add a and b, multiply the sum by {k} and print the result."),
        lambda a, b, k: (a + b) * k,
        {"k": _FROM_2},
    ),
    TaskFamily(
        "pair_distance",
        PAIR,
        (
            "Print the absolute difference of a and b, plus {k}.",
            "Print {k} more than the distance between a and b.",
        ),
        lambda a, b, k: abs(a - b) + k,
        {"k": _FROM_2},
    ),
    TaskFamily(
        "pair_larger",
        PAIR,
        ("Print the larger of a and b, times {k}.", "Multiply the maximum of a and b by {k} and print it."),
        lambda a, b, k: max(a, b) * k,
        {"k": _FROM_2},
    ),
    TaskFamily(
        "pair_closest",
        PAIR,
        (
            "Print that of the two which is closer to {k}; print a if both are equally close.",
            "Which of a and b has the smaller distance to {k}? Print it, or a if the distances are equal.",
        ),
        lambda a, b, k: a if abs(a - k) <= abs(b - k) else b,
        {"k": range(10, 40)},
    ),
    TaskFamily(
        "pair_swapped",
        PAIR,
        (
            "Print b, then the character {sep}, then a, without spaces.",
            "Print the two in reverse order with {sep} between them and no space.",
        ),
        lambda a, b, sep: f"{b}{sep}{a}",
        {"sep": SEPARATORS},
    ),
    TaskFamily(
        "pair_both_above",
        PAIR,
        (
            "Print YES if both of them are greater than {k}, else NO.",
            "Print NO if a or b is at most {k}, otherwise YES.",
        ),
        lambda a, b, k: a > k and b > k,
        {"k": range(5, 25)},
    ),
    TaskFamily(
        "pair_product_mod",
        NATURAL_PAIR,
        ("Print the product of a and b, modulo {k}.", "Print the remainder of a * b divided by {k}."),
        lambda a, b, k: a * b % k,
        {"k": range(11, 60)},
    ),
    TaskFamily(
        "pair_power_mod",
        NATURAL_PAIR,
        (
            "Print a to the power of b, modulo {k}.",
            "Multiply a with itself so that b factors are used, and print the product modulo {k}.",
        ),
        lambda a, b, k: pow(a, b, k),
        {"k": range(11, 60)},
    ),
    TaskFamily(
        "pair_share",
        NATURAL_PAIR,
        (
            "Print the sum of a and b divided by {k}, rounded down.",
            "a and b coins are put together and shared by {k} people. Print how many whole coins each gets.",
        ),
        lambda a, b, k: (a + b) // k,
        {"k": range(2, 14)},
    ),
    TaskFamily(
        "pair_gcd",
        NATURAL_PAIR,
        (
            "Print the greatest common divisor of a and b, plus {k}.",
            "Print {k} more than the largest integer that divides both a and b.",
        ),
        lambda a, b, k: math.gcd(a, b) + k,
        {"k": _FROM_2},
    ),
    TaskFamily(
        "pair_divisible",
        NATURAL_PAIR,
        (
            "Print YES if the sum of a and b is divisible by {k}, else NO.",
            "Does {k} divide a + b? Print YES or NO.",
        ),
        lambda a, b, k: (a + b) % k == 0,
        {"k": range(2, 10)},
    ),
    TaskFamily(
        "fence",
        NATURAL_PAIR,
        (
            "A field is a rectangle with the sides a and b. A fence around it costs {k} for each unit of length. Print"
            " the cost.",
            "Print {k} times the perimeter of a rectangle with the sides a and b.",
        ),
        lambda a, b, k: 2 * (a + b) * k,
        {"k": _FROM_2},
    ),
    TaskFamily(
        "range_sum",
        RANGE,
        (
            "Print the sum of all integers from a to b (both count), plus {k}.",
            "Add up a, a + 1 and so on up to b, add {k} and print the total.",
        ),
        lambda a, b, k: sum(range(a, b + 1)) + k,
        {"k": _FROM_2},
    ),
    TaskFamily(
        "range_multiples",
        RANGE,
        (
            "Print how many integers from a to b (both count) are divisible by {k}.",
            "Count the multiples of {k} that are at least a and at most b.",
        ),
        lambda a, b, k: sum(i % k == 0 for i in range(a, b + 1)),
        {"k": range(2, 10)},
    ),
    TaskFamily(
        "middle",
        TRIPLE,
        (
            "Print {k} plus that of the three which is neither the largest nor the smallest when they are sorted.",
            "Sort the three numbers, add {k} to the second and print it.",
        ),
        lambda a, b, c, k: sorted((a, b, c))[1] + k,
        {"k": _FROM_2},
    ),
    TaskFamily(
        "two_largest",
        TRIPLE,
        (
            "Print {k} times the sum of the two largest of the three.",
            "Leave out the smallest of the three (one of them if several are), add the other two and print {k} times"
            " the sum.",
        ),
        lambda a, b, c, k: (a + b + c - min(a, b, c)) * k,
        {"k": _FROM_2},
    ),
    TaskFamily(
        "box",
        TRIPLE,
        (
            "A box has the sides a, b and c. Print its volume plus {k}.",
            "Multiply the three with each other, add {k} and print the result.",
        ),
        lambda a, b, c, k: a * b * c + k,
        {"k": _FROM_2},
    ),
)
