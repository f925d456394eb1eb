"""Normal spellings of answers, their numbers and their parts."""

from __future__ import annotations

import time
from fractions import Fraction

import pytest
from agnostics.math.normaliser import normalise
from agnostics.math.numbers import close, values
from agnostics.math.structure import Structure, structure_of, without_parentheses
from hypothesis import given
from hypothesis import strategies as st

NUMBERS = st.fractions(max_denominator=10**6)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (r"\dfrac{1}{2}", r"\frac{1}{2}"),
        (r"\frac12", r"\frac{1}{2}"),
        (r"\frac 59", r"\frac{5}{9}"),
        (r"\frac{270}7", r"\frac{270}{7}"),
        (r"11\sqrt2", r"11 \sqrt{2}"),
        ("3√13", r"3\sqrt{13}"),
        (r"\left( 3, \frac{\pi}{2} \right)", r"(3,\frac{\pi}{2})"),
        ("π", r"\pi"),
        (r"90^\circ", "90"),
        (r"90^{\circ}", "90°"),
        (r"10,\!080", "10080"),
        (r"\$32,\!348", "32348"),
        ("$x+1$", "x + 1"),
        (r"\text{Evelyn}", "evelyn"),
        (r"x \leq 3", "x≤3"),
        (r"2 \times 3", r"2\times3"),
        ("5.", "5"),
    ],
)
def test_spellings_of_one_answer_have_one_normal_spelling(one: str, other: str) -> None:
    assert normalise(one) == normalise(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [("1 2", "12"), ("1 1/2", "11/2"), ("x", "X"), ("(1,2)", "[1,2]"), (r"\frac{12}{3}", r"\frac{1}{23}"), ("-1", "1")],
)
def test_different_answers_have_different_spellings(one: str, other: str) -> None:
    assert normalise(one) != normalise(other)


@given(NUMBERS)
def test_a_quotient_is_read_however_it_is_written(number: Fraction) -> None:
    above, below = number.numerator, number.denominator
    for text in (f"{above}/{below}", rf"\frac{{{above}}}{{{below}}}", rf"\dfrac {{{above}}} {{{below}}}"):
        assert values(normalise(text)) == (number,)


@given(st.decimals(allow_nan=False, allow_infinity=False, places=4))
def test_a_decimal_is_read_exactly(number: Fraction) -> None:
    assert values(normalise(f"{number:f}")) == (Fraction(number),)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (".5", [Fraction(1, 2)]),
        (r"1.2 \times 10^{-7}", [Fraction(12, 10**8)]),
        (r"50\%", [50, Fraction(1, 2)]),
        (r"-\frac{1}{2}", [Fraction(-1, 2)]),
        ("1/0", []),
        ("x", []),
        ("", []),
        (".", []),
        ("%", []),
        ("9" * 10_000, []),
    ],
)
def test_plain_numbers_have_values_and_nothing_else_has(text: str, expected: list[Fraction]) -> None:
    assert list(values(normalise(text))) == expected


@given(NUMBERS, st.integers(min_value=-(10**9), max_value=10**9))
def test_an_integer_is_close_to_itself_only(number: Fraction, integer: int) -> None:
    assert close(number, Fraction(integer)) == (number == integer)


def test_other_numbers_are_close_within_six_digits() -> None:
    assert close(Fraction(1, 3), Fraction("0.333333"))
    assert not close(Fraction(1, 3), Fraction("0.3333"))
    assert not close(Fraction("1.2e-7"), Fraction("1.3e-7"))


@pytest.mark.parametrize(
    ("text", "kind", "parts"),
    [
        ("1,-2", "set", ("1", "-2")),
        (r"\{1,f(2,3)\}", "set", ("1", "f(2,3)")),
        ("(3,4]", "(]", ("3", "4")),
        ("[(1,2),3]", "[]", ("(1,2)", "3")),
        (r"(0,9)\cup(9,36)", "union", ("(0,9)", "(9,36)")),
        (r"\begin{pmatrix}1&2\\3&4\end{pmatrix}", "matrix of 2,2", ("1", "2", "3", "4")),
        (r"\begin{bmatrix}1\\2\\\end{bmatrix}", "matrix of 1,1", ("1", "2")),
        ("52_8", "base", ("52", "8")),
    ],
)
def test_structures_have_a_kind_and_parts(text: str, kind: str, parts: tuple[str, ...]) -> None:
    assert structure_of(text) == Structure(kind, parts)


@pytest.mark.parametrize("text", ["5", "(x+1)(x-1)", "f(1,2)", "(x)", r"\frac{1}{2}", ")(", "(", ""])
def test_what_has_one_part_is_no_structure(text: str) -> None:
    assert structure_of(text) is None


@pytest.mark.parametrize(
    ("text", "expected"), [("(C)", "C"), ("(1,2)", "(1,2)"), ("(a)(b)", "(a)(b)"), ("()", ""), ("(", "(")]
)
def test_parentheses_around_one_part_say_nothing(text: str, expected: str) -> None:
    assert without_parentheses(text) == expected


PIECES = st.sampled_from([*r"\{}()[],.^_$%!&0129abx +-/√π½", r"\frac", r"\text{", r"\left", "{,}", r"\begin{pmatrix}"])


@given(st.lists(PIECES, max_size=40))
def test_no_text_is_an_error(pieces: list[str]) -> None:
    normal = without_parentheses(normalise("".join(pieces)))
    values(normal)
    structure_of(normal)


@pytest.mark.parametrize(
    "text",
    ["{", "}", r"\text{", r"\frac{", r"\frac", r"\!", " ", "1,", "9", "√", "^", "^ ", r"\ ", "a ", "12 ", r"\left"],
)
def test_the_longest_answer_is_normalised_at_once(text: str) -> None:
    begun = time.process_time()
    normalise(text * (10_000 // len(text)))
    normalise(r"\text" + text * (10_000 // len(text)))
    assert time.process_time() - begun < 0.5
