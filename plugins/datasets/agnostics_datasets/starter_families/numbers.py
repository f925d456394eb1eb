"""Families on one number, which `starter` does not have."""

from __future__ import annotations

import math

from agnostics_datasets.starter.family import TaskFamily
from agnostics_datasets.starter.forms import POSITIVE, SMALL

_FROM_2 = range(2, 22)


def _power(n: int, k: int) -> int:
    power = 1
    while power * k <= n:
        power *= k
    return power


def _first_divisor(n: int, k: int) -> int:
    return next(d for d in range(2, n + k + 1) if (n + k) % d == 0)


FAMILIES = (
    TaskFamily(
        "reverse_digits",
        POSITIVE,
        (
            "Reverse the digits of n, add {k} to the number that results, and print it.",
            "Print {k} plus the number whose digits are those of n in reverse order.",
        ),
        lambda n, k: int(str(n)[::-1]) + k,
        {"k": _FROM_2},
    ),
    TaskFamily(
        "digit_product",
        POSITIVE,
        (
            "Print the product of the digits of n, plus {k}.",
            "Multiply all digits of n with each other, add {k} and print the result.",
        ),
        lambda n, k: math.prod(map(int, str(n))) + k,
        {"k": _FROM_2},
    ),
    TaskFamily(
        "largest_digit",
        POSITIVE,
        ("Print the largest digit of n, times {k}.", "Find the greatest digit in n and print {k} times its value."),
        lambda n, k: max(map(int, str(n))) * k,
        {"k": _FROM_2},
    ),
    TaskFamily(
        "digits_above",
        POSITIVE,
        ("Print how many digits of n are greater than {d}.", "Count the digits of n that exceed {d}."),
        lambda n, d: sum(int(digit) > d for digit in str(n)),
        {"d": range(1, 8)},
    ),
    TaskFamily(
        "mirrored_sum",
        POSITIVE,
        (
            "Print YES if n + {k} reads the same backwards, else NO.",
            "Add {k} to n. Print YES if the digits of the sum form a palindrome, otherwise NO.",
        ),
        lambda n, k: str(n + k) == str(n + k)[::-1],
        {"k": range(1, 13)},
    ),
    TaskFamily(
        "square_sum",
        POSITIVE,
        (
            "Print YES if n + {k} is a perfect square, else NO.",
            "Is n + {k} the square of an integer? Print YES or NO.",
        ),
        lambda n, k: math.isqrt(n + k) ** 2 == n + k,
        {"k": range(1, 13)},
    ),
    TaskFamily(
        "sum_of_squares",
        POSITIVE,
        (
            "Print the sum of the squares of the integers from 1 to n, plus {k}.",
            "Add up 1 * 1, 2 * 2 and so on up to n * n, add {k} and print the total.",
        ),
        lambda n, k: sum(i * i for i in range(1, n + 1)) + k,
        {"k": _FROM_2},
    ),
    TaskFamily(
        "largest_power",
        POSITIVE,
        (
            "Print the largest of the numbers 1, {k}, {k} * {k}, {k} * {k} * {k} and so on that is at most n.",
            "Start with 1 and multiply by {k} as long as the result is not greater than n. Print the last number.",
        ),
        _power,
        {"k": range(2, 10)},
    ),
    TaskFamily(
        "coins",
        POSITIVE,
        (
            "Print two numbers: how many coins of {k} can be paid from n, and how much of n is left then.",
            "Divide n by {k}. Print the whole quotient and the remainder with a space between.",
        ),
        lambda n, k: [n // k, n % k],
        {"k": range(3, 19)},
    ),
    TaskFamily(
        "minutes",
        POSITIVE,
        (
            "A song of n seconds gets {k} seconds longer. Print its new length as minutes:seconds, with two digits for"
            " the seconds.",
            "Print n + {k} seconds as m:ss, where m are whole minutes and ss the other seconds in two digits.",
        ),
        lambda n, k: f"{(n + k) // 60}:{(n + k) % 60:02}",
        {"k": _FROM_2},
    ),
    TaskFamily(
        "progression",
        SMALL,
        (
            "Print n numbers on one line: the first is {k}, and each of the others is {d} more than the one before.",
            "Start with {k} and add {d} each time. Print the first n numbers on one line, separated by spaces.",
        ),
        lambda n, k, d: [k + i * d for i in range(n)],
        {"k": range(2, 14), "d": range(2, 10)},
    ),
    TaskFamily(
        "binary_ones",
        POSITIVE,
        (
            "Print how many ones the binary form of n + {k} has.",
            "Write n + {k} in binary and print the number of its digits that are 1.",
        ),
        lambda n, k: (n + k).bit_count(),
        {"k": range(1, 13)},
    ),
    TaskFamily(
        "first_divisor",
        POSITIVE,
        (
            "Print the smallest divisor of n + {k} that is greater than 1.",
            "Add {k} to n and print the smallest integer from 2 on that divides the sum.",
        ),
        _first_divisor,
        {"k": range(1, 13)},
    ),
    TaskFamily(
        "right_triangle",
        SMALL,
        (
            "Print n lines of n characters: line i holds n - i dots and then i letters {c}.",
            "Print a triangle of {c} with n lines, aligned on the right: dots fill each line on the left, up to n"
            " characters.",
        ),
        lambda n, c: "\n".join("." * (n - i) + c * i for i in range(1, n + 1)),
        {"c": tuple("abcdefxyz")},
    ),
    TaskFamily(
        "stripes",
        SMALL,
        (
            "Print n lines of n characters each: {c} and a dot in turn, beginning with {c} in every line.",
            "Print a square of n by n characters: odd columns (the first, the third, ...) hold {c}, even ones a dot.",
        ),
        lambda n, c: "\n".join(["".join(c if i % 2 == 0 else "." for i in range(n))] * n),
        {"c": tuple("abcdefxyz")},
    ),
)
