"""The equality of answers, as the slot's program decides it."""

from __future__ import annotations

import pytest
from agnostics.math.equivalence import equivalent

EQUAL = [
    ("1/2", "0.5"),
    ("0.5", r"\frac12"),
    (r"50\%", "0.5"),
    (r"50\%", "50"),
    ("x+1", "1+x"),
    (r"(x-2)(x+2)", "x^2-4"),
    (r"\frac{1}{\sqrt2}", r"\frac{\sqrt2}{2}"),
    ("2+√13", r"\sqrt{13}+2"),
    ("0.333333", r"\frac{1}{3}"),
    ("6366.2", r"\frac{20000}{\pi}"),
    ("2,1", "1,2"),
    (r"\{3,2,1\}", r"\{1, 2, 3\}"),
    ("2x, 1", "1, x+x"),
    (r"1+\sqrt{19}, 1-\sqrt{19}", r"1 \pm \sqrt{19}"),
    ("(1/2, x+x)", r"\left( 0.5, 2x \right)"),
    ("[1,2)", r"\left[1, \frac{4}{2}\right)"),
    (r"[3,5)\cup(-\infty,2]", r"(-\infty,2]\cup[3,5)"),
    ("[-2,7]", r"x \in [-2,7]"),
    (r"-2\le x\le 7", r"x \in [-2,7]"),
    (r"\begin{bmatrix} 1/2 \\ 3 \end{bmatrix}", r"\begin{pmatrix} 0.5 \\ 3 \end{pmatrix}"),
    ("5", "x=5"),
    ("-5x+7y-11z-4=0", "5x - 7y + 11z + 4 = 0"),
    ("C", r"\text{(C)}"),
    ("east", r"\text{east}"),
    ("5.4", r"5.4 \text{ cents}"),
    ("864", r"864 \mbox{ inches}^2"),
    (r"\frac{9}{5}", r"1\frac{4}{5}"),
    ("52_{8}", "52_8"),
    ("2^{10}", "1024"),
    ("((2x))", "2x"),
]
DIFFERENT = [
    ("12", "1 2"),
    ("", "5"),
    ("x", "5"),
    ("y", "x"),
    ("1.9999999", "2"),
    (r"1.2 \times 10^{-7}", r"1.3 \times 10^{-7}"),
    ("(2,1)", "(1,2)"),
    ("[1,2]", "(1,2)"),
    ("(1,2]", "(1,2)"),
    (r"\emptyset", "(3,1)"),
    ("1,1,2", "1,2,2"),
    ("1,2", "1,2,3"),
    ("5,7", "5"),
    (r"\pm 3", "3"),
    (r"\begin{pmatrix}1&2\end{pmatrix}", r"\begin{pmatrix}1\\2\end{pmatrix}"),
    (r"\begin{pmatrix}1\\2\end{pmatrix}", r"\begin{pmatrix}2\\1\end{pmatrix}"),
    ("52_9", "52_8"),
    (r"864 \mbox{ inches}^3", r"864 \mbox{ inches}^2"),
    (r"\text{seat}", r"\text{east}"),
    (r"\text{(C)}", r"\text{(E)}"),
    (r"\frac{0}{0}", "5"),
    (r"7 final answer is \(5+x\). I hope", "5+x"),
]


@pytest.mark.parametrize(("prediction", "gold"), EQUAL)
def test_equal_answers_are_equal(prediction: str, gold: str) -> None:
    assert equivalent(prediction, gold)
    assert equivalent(gold, gold)


@pytest.mark.parametrize(("prediction", "gold"), DIFFERENT)
def test_different_answers_are_different(prediction: str, gold: str) -> None:
    assert not equivalent(prediction, gold)
    assert not equivalent(gold, prediction)
