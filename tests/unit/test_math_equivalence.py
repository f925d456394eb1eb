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
    ("(1+i)^2", "2i"),
    (r"\frac{2+i}{1-i}", r"\frac{1+3\mathrm{i}}{2}"),
    (r"e^{i\pi/3}", r"\frac{1}{2}+\frac{\sqrt{3}}{2}i"),
    (r"\frac{1\pm\sqrt5}{2}", r"\frac{1-\sqrt{5}}{2}, \frac{1+\sqrt{5}}{2}"),
    (r"\{0, \pm 1\}", r"\{-1,0,1\}"),
    (r"x = \pm 3", "3, -3"),
    ("100, 200", "200, 100"),
    ("100, 200", "100,200"),
    ("(100,200)", "(100, 200)"),
    ("x=5, y=4", "(5,4)"),
    ("y=4, x=5", "(5,4)"),
    ("1 1/2", r"1\frac{1}{2}"),
    (r"0.1\overline{6}", r"\frac{1}{6}"),
    (r"12 square inches", r"12 \text{ in}^2"),
    (r"12 \text{ miles per hour}", "12 mph"),
    ("15 km/h", "15"),
    (r"15 \text{ square units}", r"15\mbox{ cm}^2"),
    ("5 dollars", r"\$5"),
    (r"12\pi cm^2", r"12\pi"),
    (r"3\sqrt{2} \text{ m}", r"\sqrt{18}"),
    ("20 s", "20"),
    ("36 brown eggs", "36"),
    ("7 years old", r"7 \text{ years}"),
    (r"x < -2 \text{ or } x > 3", r"(-\infty,-2) \cup (3,\infty)"),
    (r"3 \text{ or } 4", "4 or 3"),
    ("20s", "20"),
    ("5t+x", "x+5t"),
    ("a+b+c=12", "12"),
    ("y=4-x", "x+y=4"),
    (r"\cos 60^\circ", r"\frac{1}{2}"),
    (r"\frac{\sqrt{6}+\sqrt{2}}{4}", r"\cos 15^{\circ}"),
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
    ("1+3i", "1-3i"),
    ("(1+i)^2", "-2i"),
    (r"1\pm\sqrt2", r"1\pm\sqrt3"),
    (r"\{0,\pm1\}", r"\{0,1\}"),
    ("100, 200", "100200"),
    ("(1,2)", r"\{1,2\}"),
    ("(1,2)", "1,2"),
    ("x=4, y=5", "(5,4)"),
    ("5 cm", r"5 \text{ m}"),
    (r"5 \text{ hours}", r"5 \text{ minutes}"),
    ("12 square feet", "12 cubic feet"),
    (r"12\pi \text{ cm}", r"12\pi \text{ inches}"),
    ("5 million", "5"),
    ("5 squared", "5"),
    ("2 pi", "2"),
    (r"3 \text{ to } 2", r"2 \text{ to } 3"),
    ("3 out of 5", "5 out of 3"),
    (r"x < -2 \text{ or } x > 3", r"(-\infty,-2] \cup (3,\infty)"),
    (r"5 \text{ dozen}", "5"),
    ("5t", "5s"),
    ("x+5t", "x+5"),
    ("5ab", "5"),
    (r"\frac{1048575}{7}", r"\frac{1048576}{7}"),
    (r"\frac{\sqrt2}{10^{20}}", r"\frac{\sqrt3}{10^{20}}"),
    (r"\max(1,i)", "5+x"),
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


def test_the_right_side_of_a_gold_equation_is_not_the_answer() -> None:
    assert not equivalent("4", "x^2+y^2=4")
    assert equivalent("4", "x=4")
