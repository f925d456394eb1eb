"""Starter tasks that need a loop over numbers."""

from __future__ import annotations

import math

from agnostics_datasets.starter.family import TaskFamily
from agnostics_datasets.starter.forms import POSITIVE, SMALL


def _sequence(n: int, k: int) -> int:
    for _ in range(k):
        n = 3 * n + 1 if n % 2 else n // 2
    return n


def _in_base(n: int, k: int) -> str:
    digits = ""
    while n:
        n, digit = divmod(n, k)
        digits = f"{digit}{digits}"
    return digits


def _fibonacci(n: int, k: int) -> int:
    a, b = 0, 1
    for _ in range(n):
        a, b = b, (a + b) % k
    return a % k


FAMILIES = (
    TaskFamily(
        "sum_multiples",
        POSITIVE,
        (
            "Print the sum of the multiples of {k} from 1 to n.",
            "Add up all multiples of {k} up to n and print the sum.",
            "Print the sum of all i from 1 to n that {k} divides.",
        ),
        lambda n, k: sum(range(k, n + 1, k)),
        {"k": range(2, 14)},
    ),
    TaskFamily(
        "gcd",
        POSITIVE,
        (
            "Print the greatest common divisor of n and {k}.",
            "Print the gcd of n and {k}.",
            "Print the largest integer that divides both n and {k}.",
        ),
        lambda n, k: math.gcd(n, k),
        {"k": (12, 18, 20, 24, 30, 36, 40, 42, 48, 54, 60, 72, 84, 90, 96)},
    ),
    TaskFamily(
        "digit_sum",
        POSITIVE,
        (
            "Print the sum of the digits of n, times {k}.",
            "Add up the digits of n and print {k} times the sum.",
            "Multiply the digit sum of n by {k} and print it.",
        ),
        lambda n, k: k * sum(map(int, str(n))),
        {"k": range(2, 18)},
    ),
    TaskFamily(
        "count_digit",
        POSITIVE,
        (
            "Print how often the digit {d} occurs in n.",
            "Count the digits of n that are {d} and print the count.",
            "Print the number of times n contains the digit {d}.",
        ),
        lambda n, d: str(n).count(str(d)),
        {"d": range(1, 6)},
    ),
    TaskFamily(
        "base",
        POSITIVE,
        ("Print n in base {k}.", "Write n in base {k}.", "Print the digits of n in the number system of base {k}."),
        _in_base,
        {"k": range(2, 10)},
    ),
    TaskFamily(
        "factorial_mod",
        SMALL,
        (
            "Print the factorial of n modulo {k}.",
            "Print n! modulo {k}.",
            "Multiply the integers from 1 to n, print the product modulo {k}.",
        ),
        lambda n, k: math.factorial(n) % k,
        {"k": (31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83, 89, 97)},
    ),
    TaskFamily(
        "fibonacci_mod",
        SMALL,
        (
            "Print the n-th Fibonacci number modulo {k}.",
            "With F(1) = F(2) = 1, print the Fibonacci number F(n) modulo {k}.",
            "Print Fibonacci number n (1, 1, 2, 3, ...) modulo {k}.",
        ),
        _fibonacci,
        {"k": range(50, 100, 3)},
    ),
    TaskFamily(
        "iterate",
        POSITIVE,
        (
            "Repeat {k} times: halve n if it is even, else set n to 3n + 1. Print n.",
            "Take {k} steps of n -> n / 2 (n even) or 3n + 1 (n odd). Print n.",
            "Do {k} times: if n is odd, n becomes 3n + 1, else n / 2. Print n.",
        ),
        _sequence,
        {"k": range(2, 12)},
    ),
    TaskFamily(
        "countdown",
        SMALL,
        (
            "Print n * {k}, then count down by {k} to {k}, one number per line.",
            "Count from n * {k} down to {k} in steps of {k}, one per line.",
            "Print the first n multiples of {k}, largest first, one per line.",
        ),
        lambda n, k: "\n".join(str(i * k) for i in range(n, 0, -1)),
        {"k": range(2, 14)},
    ),
    TaskFamily(
        "prime_shift",
        POSITIVE,
        (
            "Print YES if n + {k} is a prime, else NO.",
            "Is n + {k} prime? Print YES or NO.",
            "Add {k} to n and print YES if that is a prime, otherwise NO.",
        ),
        lambda n, k: all((n + k) % i for i in range(2, math.isqrt(n + k) + 1)),
        {"k": range(2, 14)},
    ),
    TaskFamily(
        "divisors",
        POSITIVE,
        (
            "Print the number of divisors of n + {k}.",
            "Add {k} to n and print how many divisors that has.",
            "Print how many integers divide n + {k}.",
        ),
        lambda n, k: sum((n + k) % i == 0 for i in range(1, n + k + 1)),
        {"k": range(1, 13)},
    ),
    TaskFamily(
        "fizz",
        SMALL,
        (
            "For i from 1 to n print {w} if {k} divides i, else i, one per line.",
            "Print 1 to n, one per line, with {w} for the multiples of {k}.",
            "Count from 1 to n, one per line, but say {w} for multiples of {k}.",
        ),
        lambda n, k, w: "\n".join(w if i % k == 0 else str(i) for i in range(1, n + 1)),
        {"k": range(2, 7), "w": ("fizz", "buzz", "foo", "bar")},
    ),
    TaskFamily(
        "table",
        SMALL,
        (
            "Print the first n multiples of {k} on one line.",
            "Print {k}, 2 * {k}, ..., n * {k}, separated by spaces.",
            "Print the {k} times table from 1 to n on one line.",
        ),
        lambda n, k: [i * k for i in range(1, n + 1)],
        {"k": range(2, 18)},
    ),
    TaskFamily(
        "triangle",
        SMALL,
        (
            "Print n lines: line i holds i times the letter {c}.",
            "Print a triangle of {c}: one in the first line, n in the last.",
            "For i from 1 to n print a line of i letters {c}.",
        ),
        lambda n, c: "\n".join(c * i for i in range(1, n + 1)),
        {"c": tuple("abcdefxyz")},
    ),
    TaskFamily(
        "square",
        SMALL,
        (
            "Print n lines of n letters {c} each.",
            "Print a square of {c} with n rows and n columns.",
            "Print n rows, each with the letter {c} n times.",
        ),
        lambda n, c: "\n".join([c * n] * n),
        {"c": tuple("abcdefxyz")},
    ),
)
