"""Normal spellings of answers, their numbers and their parts."""

from __future__ import annotations

import time
from fractions import Fraction

import pytest
from agnostics.math.normaliser import normalise
from agnostics.math.numbers import Number, close, values
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
        (r"\$32,\!348", "32,348"),
        ("$x+1$", "x + 1"),
        (r"\text{Evelyn}", "evelyn"),
        (r"x \leq 3", "x≤3"),
        (r"2 \times 3", r"2\times3"),
        ("5.", "5"),
        (r"\[5\]", "5"),
        ("√(2x)", r"\sqrt{2x}"),
        (r"\approx 3.14", "3.14"),
        (r"\boldsymbol{x}", "{x}"),
        ("€5", "5"),
        (r"(0,1) \bigcup (2,3)", r"(0,1)\cup(2,3)"),
        (r"\left[\begin{array}{cc} 1&2 \\[4pt] 3&4 \end{array}\right]", r"\begin{pmatrix}1&2\\3&4\end{pmatrix}"),
    ],
)
def test_spellings_of_one_answer_have_one_normal_spelling(one: str, other: str) -> None:
    assert normalise(one) == normalise(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("1, 200", "1200"),
        ("1 2", "12"),
        ("1 1/2", "11/2"),
        ("x", "X"),
        ("(1,2)", "[1,2]"),
        (r"\frac{12}{3}", r"\frac{1}{23}"),
        ("-1", "1"),
    ],
)
def test_different_answers_have_different_spellings(one: str, other: str) -> None:
    assert normalise(one) != normalise(other)


@given(NUMBERS)
def test_a_quotient_is_read_however_it_is_written(number: Fraction) -> None:
    above, below = number.numerator, number.denominator
    for text in (f"{above}/{below}", rf"\frac{{{above}}}{{{below}}}", rf"\dfrac {{{above}}} {{{below}}}"):
        assert values(normalise(text)) == (Number(number),)


@given(st.decimals(allow_nan=False, allow_infinity=False, places=4))
def test_a_decimal_is_read_exactly(number: Fraction) -> None:
    assert values(normalise(f"{number:f}")) == (Number(Fraction(number), Fraction(1, 10_000)),)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (".5", [Fraction(1, 2)]),
        (r"1.2 \times 10^{-7}", [Fraction(12, 10**8)]),
        (r"50\%", [50, Fraction(1, 2)]),
        (r"-\frac{1}{2}", [Fraction(-1, 2)]),
        (r"2\frac{1}{2}", [Fraction(5, 2)]),
        ("-1 1/2", [Fraction(-3, 2)]),
        (r"33\frac13\%", [Fraction(100, 3), Fraction(1, 3)]),
        (r"0.1\overline{6}", [Fraction(1, 6)]),
        (r"-0.\overline{142857}", [Fraction(-1, 7)]),
        ("1.5e3", [1500]),
        (r"\$2.5 \text{ million}", [2_500_000]),
        ("1,234.5", [Fraction(2469, 2)]),
        (r"10\,080", [10_080]),
        ("10, 080", []),
        ("1/0", []),
        ("x", []),
        ("", []),
        (".", []),
        ("%", []),
        ("9" * 10_000, []),
    ],
)
def test_plain_numbers_have_values_and_nothing_else_has(text: str, expected: list[Fraction]) -> None:
    assert [number.value for number in values(normalise(text))] == expected


@given(NUMBERS, st.integers(min_value=-(10**9), max_value=10**9))
def test_an_integer_is_close_to_itself_only(number: Fraction, integer: int) -> None:
    assert close(Number(number), Number(Fraction(integer), Fraction(1))) == (number == integer)


@given(NUMBERS, NUMBERS)
def test_quotients_are_close_to_themselves_only(one: Fraction, other: Fraction) -> None:
    assert close(Number(one), Number(other)) == (one == other)


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("1/3", "0.333333", True),
        ("1/3", "0.333334", False),
        ("-1/3", "-0.333334", False),
        ("2/3", "0.666666", True),
        ("2/3", "0.666667", True),
        ("2/3", "0.666668", False),
        ("1/3", "0.3333", False),
        ("1.2e-7", "1.3e-7", False),
        ("0.1234567", "0.1234568", False),
        ("12345678.5", "12345679.5", False),
        (r"\frac{1048575}{7}", r"\frac{1048576}{7}", False),
    ],
)
def test_other_numbers_are_close_if_one_is_the_other_rounded_or_cut_off_to_six_digits_and_more(
    one: str, other: str, expected: bool
) -> None:
    assert any(close(first, second) for first in values(one) for second in values(other)) == expected


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
        ("100, 200", "set", ("100", "200")),
        (r"1\pm2", "set", ("1+2", "1-2")),
        (r"\{0,\pm1\mp x\}", "set", ("0", "+1-x", "-1+x")),
        (r"(\pm1,2)", "set", ("(+1,2)", "(-1,2)")),
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
