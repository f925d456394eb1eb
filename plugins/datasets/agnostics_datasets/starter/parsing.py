"""Starter tasks that parse a line."""

from __future__ import annotations

from agnostics_datasets.starter.family import TaskFamily
from agnostics_datasets.starter.forms import CLOCK, LETTERS, LINE, SEPARATED

SEPARATORS = (",", ";", ":", "/", "|", "&")


def _later(minutes: int, k: int) -> str:
    hour, minute = divmod((minutes + k) % (24 * 60), 60)
    return f"{hour:02}:{minute:02}"


FAMILIES = (
    TaskFamily(
        "count_long",
        LINE,
        (
            "Print how many words have more than {k} letters.",
            "Count the words longer than {k} letters.",
            "Print the number of words whose length is above {k}.",
        ),
        lambda words, k: sum(len(word) > k for word in words),
        {"k": range(3, 8)},
    ),
    TaskFamily(
        "count_starting",
        LINE,
        (
            "Print how many words start with {c}.",
            "Count the words whose first letter is {c}.",
            "Print the number of words that begin with {c}.",
        ),
        lambda words, c: sum(word[0] == c for word in words),
        {"c": tuple(LETTERS)},
    ),
    TaskFamily(
        "count_words_plus",
        LINE,
        (
            "Print the number of words plus {k}.",
            "Count the words, add {k} and print the result.",
            "Print {k} more than the number of words.",
        ),
        lambda words, k: len(words) + k,
        {"k": range(2, 18)},
    ),
    TaskFamily(
        "join_words",
        LINE,
        (
            "Print the words joined by '{sep}'.",
            "Print the line with '{sep}' in place of each space.",
            "Replace the spaces by '{sep}' and print the line.",
        ),
        lambda words, sep: sep.join(words),
        {"sep": SEPARATORS},
    ),
    TaskFamily(
        "initials",
        LINE,
        (
            "Print the first letters of the words, joined by '{sep}'.",
            "Print the initial of each word with '{sep}' between them.",
            "Take the first letter of every word and print them separated by '{sep}'.",
        ),
        lambda words, sep: sep.join(word[0] for word in words),
        {"sep": SEPARATORS},
    ),
    TaskFamily(
        "sum_separated",
        SEPARATED,
        ("Print their sum.", "Add them up and print the sum.", "Print the total of them all."),
        lambda numbers, **_: sum(numbers),
        {"sep": SEPARATORS},
    ),
    TaskFamily(
        "max_separated",
        SEPARATED,
        ("Print the largest of them.", "Print their maximum.", "Print the greatest integer."),
        lambda numbers, **_: max(numbers),
        {"sep": SEPARATORS},
    ),
    TaskFamily(
        "count_separated",
        SEPARATED,
        ("Print how many there are.", "Count them and print the count.", "Print the number of integers."),
        lambda numbers, **_: len(numbers),
        {"sep": SEPARATORS},
    ),
    TaskFamily(
        "later",
        CLOCK,
        (
            "Print the time {k} minutes later, as hh:mm.",
            "Add {k} minutes and print the time as hh:mm.",
            "Print as hh:mm what the clock says after {k} minutes.",
        ),
        _later,
        {"k": range(15, 95, 5)},
    ),
)
