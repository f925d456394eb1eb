"""Families on one word or two, which `starter` does not have."""

from __future__ import annotations

from itertools import groupby, pairwise, takewhile

from agnostics_datasets.starter.family import TaskFamily
from agnostics_datasets.starter.forms import WORD
from agnostics_datasets.starter.strings import ENDINGS
from agnostics_datasets.starter_families.forms import BITS, MIRRORED, RUNS, TWO_WORDS
from agnostics_datasets.starter_families.series import SEPARATORS, WORDS

_FROM_2 = range(2, 18)


def _rotated(s: str, k: int) -> str:
    start = k % len(s)
    return s[start:] + s[:start]


def _masked(s: str, k: int) -> str:
    return "*" * (len(s) - k) + s[-k:] if len(s) > k else s


def _run_lengths(s: str, sep: str) -> str:
    return sep.join(f"{letter}{len(list(run))}" for letter, run in groupby(s))


def _same_start(s: str, t: str, k: int) -> int:
    return len(list(takewhile(lambda pair: pair[0] == pair[1], zip(s, t, strict=False)))) + k


def _longest_run(s: str, k: int) -> int:
    return max(len(list(run)) for _, run in groupby(s)) * k


FAMILIES = (
    TaskFamily(
        "vowels",
        WORD,
        (
            "Print how many letters of s are vowels (a, e, i, o or u), times {k}.",
            "Count the vowels a, e, i, o and u in s and print {k} times the count.",
        ),
        lambda s, k: sum(c in "aeiou" for c in s) * k,
        {"k": _FROM_2},
    ),
    TaskFamily(
        "capital_append",
        WORD,
        (
            "Print s with its first letter in upper case, followed by {w}.",
            "Turn the first letter of s into a capital, append {w} and print the result.",
        ),
        lambda s, w: s[0].upper() + s[1:] + w,
        {"w": ENDINGS},
    ),
    TaskFamily(
        "doubled_letters",
        RUNS,
        (
            "Print how many letters of s are equal to the letter just before them, plus {k}.",
            "Count the places where a letter of s is followed by the same letter; print {k} more than the count.",
        ),
        lambda s, k: sum(a == b for a, b in pairwise(s)) + k,
        {"k": _FROM_2},
    ),
    TaskFamily(
        "every_kth_letter",
        WORD,
        (
            "Print the letters of s at the places 1, 1 + {k}, 1 + {k} + {k} and so on, without spaces.",
            "Print the first letter of s, then always the one {k} places further on, without spaces.",
        ),
        lambda s, k: s[::k],
        {"k": range(2, 8)},
    ),
    TaskFamily(
        "spelled",
        WORD,
        (
            "Print the letters of s with '{sep}' between them.",
            "Spell s: print its letters in order, joined by '{sep}'.",
        ),
        lambda s, sep: sep.join(s),
        {"sep": SEPARATORS},
    ),
    TaskFamily(
        "rotated_word",
        WORD,
        (
            "Move the first letter of s to its end, {k} times in all, and print the result.",
            "Rotate s to the left by {k} letters and print it.",
        ),
        _rotated,
        {"k": range(1, 9)},
    ),
    TaskFamily(
        "sorted_letters",
        WORD,
        (
            "Print the letters of s in alphabetical order, followed by {w}.",
            "Sort the letters of s from a to z, append {w} and print the result.",
        ),
        lambda s, w: "".join(sorted(s)) + w,
        {"w": ENDINGS},
    ),
    TaskFamily(
        "distinct_letters",
        WORD,
        (
            "Print how many different letters s has, plus {k}.",
            "Count every letter of s only once; print {k} more than the count.",
        ),
        lambda s, k: len(set(s)) + k,
        {"k": _FROM_2},
    ),
    TaskFamily(
        "ends",
        WORD,
        (
            "Print the first letter of s, then {w}, then the last letter of s, without spaces.",
            "Print {w} with the first letter of s before it and the last letter of s after it.",
        ),
        lambda s, w: s[0] + w + s[-1],
        {"w": ENDINGS},
    ),
    TaskFamily(
        "masked",
        WORD,
        (
            "Print s with a * in place of every letter but the last {k}.",
            "Hide s: replace all its letters except the last {k} by * and print it.",
        ),
        _masked,
        {"k": range(1, 7)},
    ),
    TaskFamily(
        "letter_values",
        WORD,
        (
            "With a = 1, b = 2 and so on up to z = 26, print the sum of the values of the letters of s, times {k}.",
            "Add up the places of the letters of s in the alphabet (a is 1) and print {k} times the sum.",
        ),
        lambda s, k: sum(ord(c) - 96 for c in s) * k,
        {"k": _FROM_2},
    ),
    TaskFamily(
        "palindrome",
        MIRRORED,
        (
            "Print {w} if s reads the same from both ends, else no.",
            "Is s a palindrome? Print {w} if it is and no if it is not.",
        ),
        lambda s, w: w if s == s[::-1] else "no",
        {"w": WORDS},
    ),
    TaskFamily(
        "run_lengths",
        RUNS,
        (
            "Print each run of equal letters as the letter and the length of the run; join the runs by '{sep}'.",
            "Shorten s: print for every group of equal neighbours the letter and their number, with '{sep}' between"
            " groups.",
        ),
        _run_lengths,
        {"sep": SEPARATORS},
    ),
    TaskFamily(
        "longest_run",
        RUNS,
        (
            "Print the length of the longest run of equal letters in s, times {k}.",
            "Print {k} times the size of the largest group of equal neighbours in s.",
        ),
        _longest_run,
        {"k": _FROM_2},
    ),
    TaskFamily(
        "without_start",
        WORD,
        ("Print s without its first {k} letters.", "Remove the {k} letters at the start of s and print the rest."),
        lambda s, k: s[k:],
        {"k": range(1, 5)},
    ),
    TaskFamily(
        "ones",
        BITS,
        ("Print how many of its digits are 1, times {k}.", "Count the ones in s and print {k} times their number."),
        lambda s, k: s.count("1") * k,
        {"k": _FROM_2},
    ),
    TaskFamily(
        "binary_value",
        BITS,
        (
            "Read s as a binary number and print its value in decimal, plus {k}.",
            "s is a number in base 2. Add {k} to it and print the sum in base 10.",
        ),
        lambda s, k: int(s, 2) + k,
        {"k": _FROM_2},
    ),
    TaskFamily(
        "flipped",
        BITS,
        (
            "Print s with every 0 changed to 1 and every 1 to 0, followed by {w}.",
            "Swap zeros and ones in s, append {w} and print the result.",
        ),
        lambda s, w: "".join("10"[int(bit)] for bit in s) + w,
        {"w": ENDINGS},
    ),
    TaskFamily(
        "two_swapped",
        TWO_WORDS,
        (
            "Print t, then '{sep}', then s, without spaces.",
            "Print the second word and the first word, joined by '{sep}'.",
        ),
        lambda s, t, sep: t + sep + s,
        {"sep": SEPARATORS},
    ),
    TaskFamily(
        "two_longer",
        TWO_WORDS,
        (
            "Print the longer of the two words (s if they are equally long), followed by {w}.",
            "Append {w} to that word which has more letters, to s if both have as many, and print it.",
        ),
        lambda s, t, w: (s if len(s) >= len(t) else t) + w,
        {"w": ENDINGS},
    ),
    TaskFamily(
        "same_start",
        TWO_WORDS,
        (
            "Print how many letters the two words share at their start, plus {k}.",
            "Print {k} more than the length of the longest common prefix of s and t.",
        ),
        _same_start,
        {"k": _FROM_2},
    ),
    TaskFamily(
        "same_places",
        TWO_WORDS,
        (
            "Print how many places have the same letter in both words, plus {k}; places beyond the shorter word do not"
            " count.",
            "Compare the words letter by letter up to the end of the shorter one; print {k} plus the number of equal"
            " letters.",
        ),
        lambda s, t, k: sum(a == b for a, b in zip(s, t, strict=False)) + k,
        {"k": _FROM_2},
    ),
)
