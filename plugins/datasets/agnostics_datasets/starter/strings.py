"""Starter tasks on one word."""

from __future__ import annotations

from agnostics_datasets.starter.family import TaskFamily
from agnostics_datasets.starter.forms import LETTERS, WORD

ENDINGS = ("ing", "ed", "able", "ness", "ful", "less", "er", "ly", "ish", "ward", "ment", "ism")


def _shifted(s: str, k: int) -> str:
    return "".join(chr((ord(c) - 97 + k) % 26 + 97) for c in s)


FAMILIES = (
    TaskFamily(
        "repeat_word",
        WORD,
        ("Print s {k} times in a row.", "Print s repeated {k} times.", "Print {k} copies of s without spaces."),
        lambda s, k: s * k,
        {"k": range(2, 12)},
    ),
    TaskFamily(
        "prefix",
        WORD,
        (
            "Print the first {k} letters of s, or s if it is shorter.",
            "Cut s after {k} letters and print it.",
            "Print at most {k} letters from the start of s.",
        ),
        lambda s, k: s[:k],
        {"k": range(1, 7)},
    ),
    TaskFamily(
        "suffix",
        WORD,
        (
            "Print the last {k} letters of s, or s if it is shorter.",
            "Print the end of s, {k} letters or fewer.",
            "Print at most {k} letters from the end of s.",
        ),
        lambda s, k: s[-k:],
        {"k": range(1, 7)},
    ),
    TaskFamily(
        "count_letter",
        WORD,
        ("Print how often {c} occurs in s.", "Count the letters {c} in s.", "Print the number of {c} in s."),
        lambda s, c: s.count(c),
        {"c": tuple(LETTERS)},
    ),
    TaskFamily(
        "remove_letter",
        WORD,
        (
            "Print s without the letter {c}.",
            "Remove every {c} from s and print what is left.",
            "Delete all {c} in s and print it.",
        ),
        lambda s, c: s.replace(c, ""),
        {"c": tuple(LETTERS)},
    ),
    TaskFamily(
        "replace_letter",
        WORD,
        (
            "Replace every {c} in s by {d} and print it.",
            "Print s with {d} in place of each {c}.",
            "Change all {c} of s to {d} and print s.",
        ),
        lambda s, c, d: s.replace(c, d),
        {"c": tuple(LETTERS), "d": tuple("xyz")},
    ),
    TaskFamily(
        "append",
        WORD,
        ("Print s followed by {w}.", "Append {w} to s and print it.", "Print s with the ending {w}."),
        lambda s, w: s + w,
        {"w": ENDINGS},
    ),
    TaskFamily(
        "reverse_append",
        WORD,
        (
            "Print s reversed, followed by {w}.",
            "Reverse s, append {w} and print it.",
            "Print the letters of s backwards and then {w}.",
        ),
        lambda s, w: s[::-1] + w,
        {"w": ENDINGS},
    ),
    TaskFamily(
        "upper_append",
        WORD,
        (
            "Print s in upper case, followed by {w}.",
            "Turn s into capitals, append {w} and print it.",
            "Print s in capital letters and then {w}.",
        ),
        lambda s, w: s.upper() + w,
        {"w": ENDINGS},
    ),
    TaskFamily(
        "shift",
        WORD,
        (
            "Shift each letter of s by {k} in the alphabet (z wraps to a) and print it.",
            "Print s in the Caesar cipher with shift {k}.",
            "Move every letter of s {k} places on, from z back to a, and print it.",
        ),
        _shifted,
        {"k": range(1, 17)},
    ),
    TaskFamily(
        "contains",
        WORD,
        (
            "Print YES if s contains {c}, else NO.",
            "Does {c} occur in s? Print YES or NO.",
            "Print YES if there is a {c} in s, otherwise NO.",
        ),
        lambda s, c: c in s,
        {"c": tuple(LETTERS)},
    ),
    TaskFamily(
        "position",
        WORD,
        (
            "Print the position of the first {c} in s, counted from 1, or 0 if there is none.",
            "Where in s is the first {c}? Print its place from 1, or 0 for none.",
            "Print the 1-based index of {c} in s, 0 if it is missing.",
        ),
        lambda s, c: s.find(c) + 1,
        {"c": tuple(LETTERS)},
    ),
    TaskFamily(
        "repeat_each",
        WORD,
        (
            "Print s with each letter repeated {k} times.",
            "Write every letter of s {k} times and print the result.",
            "Print {k} copies of each letter of s, in order.",
        ),
        lambda s, k: "".join(c * k for c in s),
        {"k": range(2, 10)},
    ),
    TaskFamily(
        "longer",
        WORD,
        (
            "Print YES if s has more than {k} letters, else NO.",
            "Is s longer than {k} letters? Print YES or NO.",
            "Print YES if the length of s is above {k}, otherwise NO.",
        ),
        lambda s, k: len(s) > k,
        {"k": range(3, 8)},
    ),
    TaskFamily(
        "pad",
        WORD,
        (
            "Print s, with {c} in front until it has {k} letters.",
            "Pad s on the left with {c} to {k} letters and print it.",
            "Put {c} before s until its length is at least {k}, then print it.",
        ),
        lambda s, c, k: s.rjust(k, c),
        {"c": tuple("xyz"), "k": range(7, 15)},
    ),
)
