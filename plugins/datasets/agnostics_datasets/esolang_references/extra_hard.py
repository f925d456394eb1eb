"""The reference solutions of the extra hard problems."""

from __future__ import annotations

from functools import partial
from math import lcm

from agnostics_datasets.esolang_references.extra_hard_inputs import (
    almost_rotated,
    as_roman,
    broken,
    framed,
    from_one,
    matrices,
    one_is_zero,
    one_too_large,
    pair_in_order,
    permuted_word,
    postfix_of,
    repeat_one,
    rotated,
    rounded_below_zero,
    square,
    undisputed,
)
from agnostics_datasets.esolang_references.extra_hard_solutions import (
    depths,
    element_of_product,
    from_roman,
    inversions,
    longest_increasing,
    longest_palindrome,
    next_greater,
    postfix,
    prime_factors,
    roman,
    rotations,
    spiral,
    survivor,
)
from agnostics_datasets.esolang_references.hard import balanced, is_balanced
from agnostics_datasets.esolang_references.inputs import (
    ascending,
    changed,
    counted,
    descending,
    different,
    distinct,
    equal,
    fixed,
    integer,
    joined,
    line,
    lines,
    mirrored,
    numbers,
    repeated,
    row,
    rows,
    same,
    shuffled,
    spaced,
    stacked,
    values,
    word,
)
from agnostics_datasets.esolang_references.medium import multiple_of_the_other, multiples
from agnostics_datasets.esolang_references.reference import Reference

BRACKETS = "()[]{}"


_SMALL = values(4, 8, 0, 14)


_DIGIT_PARTS = (
    integer(1, 10),
    fixed(*(str(n) for n in (14, 19, 40, 44, 90, 99, 400, 444, 490, 900, 940, 999))),
    integer(11, 99),
    integer(100, 999),
    integer(1000, 3999),
    fixed("1000", "2000", "3000", "3888", "3999", "1444", "1999", "2949", "3494"),
)


EXTRA_HARD = {
    "X01": Reference(
        numbers,
        prime_factors,
        (
            integer(4, 30),
            fixed("3", "11", "13", "17", "29", "31", "47", "89", "97"),
            fixed("4", "8", "9", "16", "25", "27", "32", "49", "64", "125", "128"),
            integer(31, 99),
            fixed("6", "30", "42", "66", "70", "84", "90", "120", "126", "150"),
            integer(100, 200),
        ),
    ),
    "X02": Reference(
        numbers,
        longest_increasing,
        (
            counted(_SMALL),
            counted(ascending(different(3, 7, 0, 30))),
            counted(descending(different(3, 6, 0, 30))),
            counted(values(5, 8, 0, 9)),
            counted(equal(1, 5, 0, 9)),
            counted(values(7, 9, 0, 30)),
        ),
    ),
    "X03": Reference(
        rows,
        element_of_product,
        (
            matrices(2, 2, 0, 9),
            matrices(2, 3, 0, 9),
            matrices(1, 1, 1, 9),
            matrices(1, 3, 0, 9),
            matrices(2, 2, 0, 1),
            matrices(2, 3, 1, 9),
        ),
    ),
    "X04": Reference(
        str.split,
        postfix,
        (
            postfix_of(1, 1, "+-*"),
            postfix_of(3, 4, "+-*"),
            postfix_of(1, 3, "/", inexact=True),
            postfix_of(2, 3, "+-*"),
            rounded_below_zero,
            postfix_of(3, 5, "+-*/"),
        ),
    ),
    "X05": Reference(
        rows,
        lambda a, b: sorted(a + b),
        (
            stacked(*[row(ascending(values(2, 4, 0, 20)))] * 2),
            stacked(row(ascending(values(2, 3, 0, 9))), row(ascending(values(2, 4, 10, 20)))),
            stacked(*[row(values(1, 1, -9, 20))] * 2),
            same(row(equal(1, 3, 0, 9)), separator="\n"),
            stacked(row(ascending(values(4, 6, 1, 60))), row(values(1, 1, 1, 60))),
            stacked(*[row(ascending(values(2, 4, -20, 9)))] * 2),
        ),
    ),
    "X06": Reference(
        numbers,
        pow,
        (
            spaced(integer(2, 9), integer(1, 9), integer(2, 100)),
            spaced(integer(2, 20), fixed("0"), integer(2, 100)),
            spaced(integer(2, 10), integer(50, 100), integer(2, 30)),
            spaced(integer(2, 9), integer(2, 9), fixed("1")),
            spaced(integer(2, 20), integer(10, 40), integer(500, 1000)),
            spaced(integer(10, 20), integer(1, 5), integer(2, 9)),
        ),
    ),
    "X07": Reference(
        line,
        longest_palindrome,
        (
            joined("", word(1, 3), mirrored(word(2, 3), odd=True), word(0, 3)),
            joined("", word(1, 3), mirrored(word(1, 3), odd=False), word(0, 3)),
            distinct(2, 7),
            word(5, 9, "abc"),
            mirrored(word(2, 4), odd=False),
            word(1, 7, "a"),
        ),
    ),
    "X08": Reference(
        numbers,
        lambda low, high: sum(n.bit_count() for n in range(low, high + 1)),
        (
            spaced(fixed("0"), integer(1, 31)),
            same(integer(2, 60)),
            lambda rng: pair_in_order(rng, different(2, 2, 1, 15)),
            lambda rng: pair_in_order(rng, different(2, 2, 10, 40)),
            fixed("0 0", "0 1", "0 7", "0 31", "1 16", "1 32", "8 15", "16 31"),
            lambda rng: pair_in_order(rng, different(2, 2, 1, 60)),
        ),
    ),
    "X09": Reference(
        line,
        lambda text: max(depths(text)),
        (
            balanced(3, 6),
            repeated(2, 5, fixed("()", "()()")),
            word(1, 6, ")"),
            undisputed(word(4, 9, "()")),
            word(1, 6, "("),
            undisputed(joined("", balanced(2, 5), word(1, 3, ")"), balanced(0, 3))),
        ),
    ),
    "X10": Reference(
        lines,
        rotations,
        (
            rotated(word(4, 7)),
            permuted_word,
            rotated(word(4, 7, "ab")),
            almost_rotated,
            same(word(1, 5), separator="\n"),
            rotated(distinct(3, 6)),
        ),
    ),
    "X11": Reference(
        numbers,
        inversions,
        (
            counted(different(4, 6, 1, 9)),
            counted(ascending(values(3, 6, 1, 9))),
            counted(descending(different(3, 6, 1, 9))),
            counted(values(4, 7, 0, 4)),
            counted(values(1, 1, 0, 9)),
            counted(values(6, 7, 1, 9)),
        ),
    ),
    "X12": Reference(
        numbers,
        lcm,
        (
            multiples(4, 7),
            spaced(integer(2, 15), integer(2, 15)),
            same(integer(2, 99)),
            multiple_of_the_other,
            shuffled(" ", fixed("1"), integer(2, 99)),
            multiples(4, 7),
        ),
    ),
    "X13": Reference(
        line,
        is_balanced,
        (
            balanced(3, 6, BRACKETS),
            lambda rng: changed(balanced(2, 5, BRACKETS), BRACKETS)(rng),
            balanced(2, 4, BRACKETS),
            joined("", balanced(0, 2, BRACKETS), fixed("([)]", "{(})", "[{]}"), balanced(0, 2, BRACKETS)),
            joined("", balanced(1, 3, BRACKETS), fixed("(", "[", "{")),
            joined("", balanced(0, 2, BRACKETS), fixed(")", "]", "}"), balanced(1, 2, BRACKETS)),
        ),
    ),
    "X14": Reference(
        numbers,
        next_greater,
        (
            counted(values(4, 6, 0, 10)),
            counted(descending(different(3, 6, 0, 20))),
            counted(ascending(different(3, 6, 0, 20))),
            counted(values(4, 7, 1, 3)),
            counted(values(1, 1, 0, 20)),
            counted(values(5, 7, 0, 20)),
        ),
    ),
    "X15": Reference(
        rows,
        spiral,
        (
            square(3, 4),
            square(1, 2),
            framed((1, 1), (2, 5)),
            framed((2, 5), (1, 1)),
            framed((2, 3), (3, 5)),
            framed((3, 5), (2, 3)),
        ),
    ),
    "X16": Reference(
        numbers,
        lambda a, b: (a ^ b).bit_count(),
        (
            spaced(integer(0, 15), integer(0, 15)),
            same(integer(1, 255)),
            spaced(integer(1, 255), fixed("0")),
            spaced(integer(0, 255), integer(0, 255)),
            spaced(fixed("0", "1", "3"), fixed("127", "128", "254", "255")),
            spaced(integer(16, 63), integer(1, 15)),
        ),
    ),
    "X17": Reference(line, from_roman, tuple(as_roman(part) for part in _DIGIT_PARTS)),
    "X18": Reference(numbers, roman, _DIGIT_PARTS),
    "X19": Reference(
        numbers,
        lambda count, *items: sorted(items) == list(range(1, count + 1)),
        (
            counted(from_one),
            broken(repeat_one),
            counted(partial(from_one, low=5, high=8)),
            broken(one_too_large),
            counted(descending(from_one)),
            broken(one_is_zero),
        ),
    ),
    "X20": Reference(
        numbers,
        survivor,
        (
            spaced(integer(3, 9), integer(2, 3)),
            spaced(integer(4, 12), fixed("1")),
            spaced(fixed("1"), integer(2, 7)),
            spaced(integer(2, 6), integer(7, 9)),
            spaced(integer(8, 12), fixed("2")),
            spaced(integer(8, 12), integer(3, 6)),
        ),
    ),
}
