"""Starter tasks on a list of numbers."""

from __future__ import annotations

import math

from agnostics_datasets.starter.family import TaskFamily
from agnostics_datasets.starter.forms import LIST

FAMILIES = (
    TaskFamily(
        "sum_plus",
        LIST,
        ("Print their sum plus {k}.", "Add them all and {k}, print the total.", "Print {k} more than their sum."),
        lambda t, k: sum(t) + k,
        {"k": range(2, 22)},
    ),
    TaskFamily(
        "max_times",
        LIST,
        (
            "Print the largest of them times {k}.",
            "Multiply the maximum by {k} and print it.",
            "Print {k} times the largest integer.",
        ),
        lambda t, k: max(t) * k,
        {"k": range(2, 18)},
    ),
    TaskFamily(
        "min_plus",
        LIST,
        ("Print the smallest of them plus {k}.", "Print {k} more than the minimum.", "Add {k} to the smallest, print."),
        lambda t, k: min(t) + k,
        {"k": range(2, 18)},
    ),
    TaskFamily(
        "count_greater",
        LIST,
        (
            "Print how many of them are greater than {k}.",
            "Count the integers above {k}.",
            "Print the number of integers that exceed {k}.",
        ),
        lambda t, k: sum(x > k for x in t),
        {"k": range(4, 16)},
    ),
    TaskFamily(
        "count_equal",
        LIST,
        (
            "Print how many of them are equal to {k}.",
            "Count how often {k} occurs.",
            "Print the number of integers that are {k}.",
        ),
        lambda t, k: t.count(k),
        {"k": range(2, 16)},
    ),
    TaskFamily(
        "sum_greater",
        LIST,
        (
            "Print the sum of those greater than {k}.",
            "Add up the integers above {k} and print the sum.",
            "Print the total of all integers that exceed {k}.",
        ),
        lambda t, k: sum(x for x in t if x > k),
        {"k": range(4, 16)},
    ),
    TaskFamily(
        "sum_divisible",
        LIST,
        (
            "Print the sum of those divisible by {k}.",
            "Add up the multiples of {k} among them and print the sum.",
            "Print the total of all integers that {k} divides.",
        ),
        lambda t, k: sum(x for x in t if x % k == 0),
        {"k": range(2, 9)},
    ),
    TaskFamily(
        "scale",
        LIST,
        (
            "Print each of them times {k}, separated by spaces.",
            "Multiply every integer by {k} and print them on one line.",
            "Print the integers on one line, each {k} times as large.",
        ),
        lambda t, k: [x * k for x in t],
        {"k": range(2, 14)},
    ),
    TaskFamily(
        "keep_greater",
        LIST,
        (
            "Print those greater than {k}, one per line.",
            "Print every integer above {k} on a line of its own.",
            "Print only the integers that exceed {k}, one per line.",
        ),
        lambda t, k: "\n".join(str(x) for x in t if x > k),
        {"k": range(4, 14)},
    ),
    TaskFamily(
        "index_of",
        LIST,
        (
            "Print the position of the first {k}, counted from 1, or 0 if there is none.",
            "Where is the first {k}? Print its place from 1, or 0 for none.",
            "Print the 1-based index of {k}, 0 if it is missing.",
        ),
        lambda t, k: t.index(k) + 1 if k in t else 0,
        {"k": range(2, 12)},
    ),
    TaskFamily(
        "sum_exceeds",
        LIST,
        (
            "Print YES if their sum is greater than {k}, else NO.",
            "Is their sum above {k}? Print YES or NO.",
            "Print YES if they add up to more than {k}, otherwise NO.",
        ),
        lambda t, k: sum(t) > k,
        {"k": range(40, 60, 2)},
    ),
    TaskFamily(
        "sorted_join",
        LIST,
        (
            "Print them in increasing order, joined by '{sep}'.",
            "Sort them and print them with '{sep}' between.",
            "Print them from smallest to largest, separated by '{sep}'.",
        ),
        lambda t, sep: sep.join(map(str, sorted(t))),
        {"sep": (",", ";", ":", "/", "|", "&")},
    ),
    TaskFamily(
        "reversed_join",
        LIST,
        (
            "Print them in reverse order, joined by '{sep}'.",
            "Print them from last to first with '{sep}' between.",
            "Print them backwards, separated by '{sep}'.",
        ),
        lambda t, sep: sep.join(map(str, reversed(t))),
        {"sep": (",", ";", ":", "/", "|", "&")},
    ),
    TaskFamily(
        "product_mod",
        LIST,
        (
            "Print their product modulo {k}, as a number from 0 to {k} - 1.",
            "Multiply them all and print the product modulo {k} (never negative).",
            "Print the product of them all modulo {k}, not below 0.",
        ),
        lambda t, k: math.prod(t) % k,
        {"k": (53, 59, 61, 67, 71, 73, 79, 83, 89, 97)},
    ),
)
