"""Families on lines, tables and commands."""

from __future__ import annotations

from itertools import accumulate

from agnostics_datasets.starter.family import TaskFamily
from agnostics_datasets.starter.forms import LETTERS, LINE
from agnostics_datasets.starter.strings import ENDINGS
from agnostics_datasets.starter_families.forms import COMMANDS, GRID, LINES, RECORDS, VOTES
from agnostics_datasets.starter_families.series import SEPARATORS

_FROM_2 = range(2, 18)

FAMILIES = (
    TaskFamily(
        "reversed_words",
        LINE,
        (
            "Print the words from the last to the first, joined by '{sep}'.",
            "Print the words in reverse order with '{sep}' between them.",
        ),
        lambda words, sep: sep.join(reversed(words)),
        {"sep": SEPARATORS},
    ),
    TaskFamily(
        "sorted_words",
        LINE,
        (
            "Print the words in alphabetical order, joined by '{sep}'.",
            "Sort the words from a to z and print them with '{sep}' between them.",
        ),
        lambda words, sep: sep.join(sorted(words)),
        {"sep": SEPARATORS},
    ),
    TaskFamily(
        "mirrored_words",
        LINE,
        (
            "Reverse the letters of every word, keep the order of the words, and print them joined by '{sep}'.",
            "Print each word backwards, in the order of the line, with '{sep}' between words.",
        ),
        lambda words, sep: sep.join(word[::-1] for word in words),
        {"sep": SEPARATORS},
    ),
    TaskFamily(
        "longest_word",
        LINE,
        (
            "Print the longest word (the first of them if there are several), followed by {w}.",
            "Append {w} to the first of the words that have the most letters and print it.",
        ),
        lambda words, w: max(words, key=len) + w,
        {"w": ENDINGS},
    ),
    TaskFamily(
        "word_lengths",
        LINE,
        (
            "Print the number of letters of each word, plus {k}, on one line.",
            "For every word print {k} more than its length, separated by spaces.",
        ),
        lambda words, k: [len(word) + k for word in words],
        {"k": _FROM_2},
    ),
    TaskFamily(
        "word_at",
        LINE,
        (
            "Print word number {k}, counted from 1, or none if there are fewer words.",
            "Which is the word at place {k} (the first is at place 1)? Print it, or none if there is no such word.",
        ),
        lambda words, k: words[k - 1] if k <= len(words) else "none",
        {"k": range(2, 9)},
    ),
    TaskFamily(
        "count_ending",
        LINE,
        ("Print how many words end with {c}.", "Count the words whose last letter is {c}."),
        lambda words, c: sum(word[-1] == c for word in words),
        {"c": tuple(LETTERS)},
    ),
    TaskFamily(
        "all_letters",
        LINE,
        (
            "Print how many letters all words have together, plus {k}.",
            "Add up the lengths of the words and print {k} more than the sum.",
        ),
        lambda words, k: sum(map(len, words)) + k,
        {"k": _FROM_2},
    ),
    TaskFamily(
        "numbered_lines",
        LINES,
        (
            "Print every word on a line of its own, with its number (from 1 on) and '{sep}' before it, without spaces.",
            "Number the words from 1: print one line for each, the number, then '{sep}', then the word.",
        ),
        lambda words, sep: "\n".join(f"{number}{sep}{word}" for number, word in enumerate(words, 1)),
        {"sep": SEPARATORS},
    ),
    TaskFamily(
        "long_lines",
        LINES,
        (
            "Print the words that have more than {k} letters, one per line.",
            "Leave out every word of at most {k} letters and print the others, one per line.",
        ),
        lambda words, k: "\n".join(word for word in words if len(word) > k),
        {"k": range(3, 7)},
    ),
    TaskFamily(
        "backward_lines",
        LINES,
        (
            "Print the words from the last to the first, one per line, each followed by {w}.",
            "Append {w} to every word and print them in reverse order, one per line.",
        ),
        lambda words, w: "\n".join(word + w for word in reversed(words)),
        {"w": ENDINGS},
    ),
    TaskFamily(
        "price_total",
        RECORDS,
        (
            "The integers are prices. Print the sum of all prices, times {k}.",
            "Add up the integers of all lines and print {k} times the sum.",
        ),
        lambda records, k: sum(number for _, number in records) * k,
        {"k": _FROM_2},
    ),
    TaskFamily(
        "names_above",
        RECORDS,
        (
            "Print the names whose integer is greater than {k}, one per line, in the order of the input.",
            "For each line with an integer above {k} print its name on a line of its own.",
        ),
        lambda records, k: "\n".join(name for name, number in records if number > k),
        {"k": range(5, 30)},
    ),
    TaskFamily(
        "best_name",
        RECORDS,
        (
            "Print the name with the largest integer (the first of them if there are several), followed by {w}.",
            "Who has the most? Print that name, the first if several have as many, with {w} appended.",
        ),
        lambda records, w: max(records, key=lambda record: record[1])[0] + w,
        {"w": ENDINGS},
    ),
    TaskFamily(
        "row_sums",
        GRID,
        (
            "Print the sum of each row, times {k}, one per line.",
            "For every row add up its integers and print {k} times the sum on a line of its own.",
        ),
        lambda grid, k: "\n".join(str(sum(row) * k) for row in grid),
        {"k": _FROM_2},
    ),
    TaskFamily(
        "column_maxima",
        GRID,
        (
            "Print the largest integer of each column, plus {k}, on one line.",
            "For every column, from left to right, print {k} more than its maximum; separate them by spaces.",
        ),
        lambda grid, k: [max(column) + k for column in zip(*grid, strict=True)],
        {"k": _FROM_2},
    ),
    TaskFamily(
        "cells_above",
        GRID,
        (
            "Print how many of the integers in the table are greater than {k}.",
            "Count the cells of the table that hold more than {k}.",
        ),
        lambda grid, k: sum(cell > k for row in grid for cell in row),
        {"k": range(6, 24)},
    ),
    TaskFamily(
        "account",
        COMMANDS,
        (
            "A counter is {k} at first. add x adds x to it, sub x subtracts x. Print the counter after the last"
            " command.",
            "Start with {k}, carry out the commands in order (add x: plus x, sub x: minus x) and print the result.",
        ),
        lambda changes, k: sum(changes) + k,
        {"k": _FROM_2},
    ),
    TaskFamily(
        "lowest_balance",
        COMMANDS,
        (
            "A counter is {k} at first. add x adds x to it, sub x subtracts x. Print the smallest value that it has,"
            " the first one included.",
            "Start with {k} and carry out the commands (add x: plus x, sub x: minus x). Print the minimum of the start"
            " and of all values on the way.",
        ),
        lambda changes, k: min(accumulate(changes, initial=k)),
        {"k": _FROM_2},
    ),
    TaskFamily(
        "votes",
        VOTES,
        (
            "Print passed if more than {k} of them are yes, else failed.",
            "Count the lines that are yes. Print passed if there are more than {k}, otherwise failed.",
        ),
        lambda votes, k: "passed" if votes.count("yes") > k else "failed",
        {"k": range(2, 6)},
    ),
)
