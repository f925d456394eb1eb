"""Starter tasks on one number."""

from __future__ import annotations

from agnostics_datasets.starter.family import TaskFamily
from agnostics_datasets.starter.forms import INTEGER, POSITIVE

FAMILIES = (
    TaskFamily(
        "add",
        INTEGER,
        ("Print n plus {k}.", "Print the sum of n and {k}.", "Add {k} to n and print the result."),
        lambda n, k: n + k,
        {"k": range(2, 22)},
    ),
    TaskFamily(
        "subtract_from",
        INTEGER,
        ("Print {k} minus n.", "Subtract n from {k} and print the result.", "Print what is left of {k} without n."),
        lambda n, k: k - n,
        {"k": range(20, 40)},
    ),
    TaskFamily(
        "multiply",
        INTEGER,
        ("Print n times {k}.", "Print the product of n and {k}.", "Multiply n by {k} and print the result."),
        lambda n, k: n * k,
        {"k": range(3, 23)},
    ),
    TaskFamily(
        "linear",
        INTEGER,
        ("Print {a} times n plus {b}.", "Multiply n by {a}, add {b}, print.", "Print the value of {a} * n + {b}."),
        lambda n, a, b: a * n + b,
        {"a": range(2, 8), "b": range(3, 8)},
    ),
    TaskFamily(
        "remainder",
        POSITIVE,
        ("Print n modulo {k}.", "Print the remainder of n divided by {k}.", "Divide n by {k}, print the remainder."),
        lambda n, k: n % k,
        {"k": range(3, 23)},
    ),
    TaskFamily(
        "quotient",
        POSITIVE,
        ("Print n divided by {k}, rounded down.", "Print how often {k} fits into n.", "Print the floor of n / {k}."),
        lambda n, k: n // k,
        {"k": range(2, 18)},
    ),
    TaskFamily(
        "square_plus",
        INTEGER,
        ("Print the square of n plus {k}.", "Square n, add {k}, print.", "Print the value of n * n + {k}."),
        lambda n, k: n * n + k,
        {"k": range(2, 22)},
    ),
    TaskFamily(
        "distance",
        INTEGER,
        (
            "Print the distance between n and {k}.",
            "Print the absolute difference of n and {k}.",
            "Print how far n is from {k}.",
        ),
        lambda n, k: abs(n - k),
        {"k": range(30, 50)},
    ),
    TaskFamily(
        "larger",
        INTEGER,
        ("Print the larger of n and {k}.", "Print the maximum of n and {k}.", "Print n, but at least {k}."),
        lambda n, k: max(n, k),
        {"k": range(30, 50)},
    ),
    TaskFamily(
        "smaller",
        INTEGER,
        ("Print the smaller of n and {k}.", "Print the minimum of n and {k}.", "Print n, but at most {k}."),
        lambda n, k: min(n, k),
        {"k": range(40, 60)},
    ),
    TaskFamily(
        "clamp",
        INTEGER,
        (
            "Print n, but at least {a} and at most {b}.",
            "Clamp n to the range {a} to {b} and print it.",
            "Print the number from {a} to {b} that is nearest to n.",
        ),
        lambda n, a, b: max(a, min(b, n)),
        {"a": range(10, 30, 4), "b": range(50, 90, 10)},
    ),
    TaskFamily(
        "compare",
        INTEGER,
        (
            "Print less if n is below {k}, greater if it is above, else equal.",
            "Compare n with {k}: print less, equal or greater.",
            "Print less, equal or greater, as n is to {k}.",
        ),
        lambda n, k: "less" if n < k else "greater" if n > k else "equal",
        {"k": range(30, 50)},
    ),
    TaskFamily(
        "divisible",
        POSITIVE,
        (
            "Print YES if n is divisible by {k}, else NO.",
            "Print YES if n is a multiple of {k}, otherwise NO.",
            "Does {k} divide n? Print YES or NO.",
        ),
        lambda n, k: n % k == 0,
        {"k": range(2, 12)},
    ),
    TaskFamily(
        "next_multiple",
        POSITIVE,
        (
            "Print the smallest multiple of {k} that is at least n.",
            "Round n up to a multiple of {k} and print it.",
            "Print the first multiple of {k} not below n.",
        ),
        lambda n, k: -(-n // k) * k,
        {"k": range(3, 19)},
    ),
)
