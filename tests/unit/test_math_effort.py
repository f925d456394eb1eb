"""Predictions that take too much effort are different from a gold answer that takes little."""

from __future__ import annotations

import time

import pytest
from agnostics.math.effort import is_too_hard

HARD = [
    *("10^{10^{10}}", "9^{9^{9^{9}}}", "9^{9^9}", "2^{10^9}", "2^{1000000000}", "9**999999999", "10^{-99999999}"),
    *("2^{999\\cdot 999\\cdot 999}", "2^{20!}", "(9^{9999})^{9999}", r"\left(9^{9999}\right)^{9999}", "x^{y^{z^{w}}}"),
    *("e^{e^{e^{e^{e}}}}", r"\exp(\exp(\exp(\exp(5))))", r"1.2 \times 10^{999999999}", r"\tan(10^{100000})"),
    *("999999999!", "((9!)!)!", "10{,}000{,}000!", r"\left(10000000\right) !", "(10^9)!", "9!!!!"),
    *(r"\binom{1000000}{500000}", r"\binom{n}{5000}", r"\sum_{k=1}^{9} k", r"\int_0^1 e^{x^2} dx", r"\prod_k k"),
    *("(x+1)^{5000}", "(x+1)^{9}(y+2)^{9}", "(x+y)(a+b)" * 9, r"\begin{pmatrix}x&2\\3&4\end{pmatrix}^{39}"),
    *("(" * 39 + "x" + ")" * 39, "{" * 4000, "-" * 5000, r"\sin" * 2000, r"\frac{1}{x+" * 20 + "2" + "}" * 20),
]
ORDINARY = [
    *(
        "2^{2010}",
        "10^{2023}-1",
        "2^{2^{3}}",
        "256",
        "2023!",
        "9!!",
        "(n+1)!",
        "x^{100}",
        "2^{n+1}-1",
        "x^{-1}",
        "(-1)^{2025}",
    ),
    *(r"x^{\frac{2023}{1011}}", r"\binom{100}{50}", r"\binom{n}{k}", "(x+1)^{10}", "(x-1)^2(x+2)^3", r"e^{2\pi i/3}"),
    *(
        r"\left(\frac{1}{2}\right)^{100}",
        "(2^{10})^{20}",
        r"\frac{1+\sqrt{\frac{2}{3+\sqrt{5}}}}{2}",
        r"\infty",
        "123,456",
    ),
]


@pytest.mark.parametrize("prediction", HARD)
def test_what_takes_too_much_effort_is_found_by_its_text(prediction: str) -> None:
    assert is_too_hard(prediction, "5+x")
    assert not is_too_hard(prediction, prediction)


@pytest.mark.parametrize("prediction", ORDINARY)
def test_an_ordinary_answer_is_not_too_hard(prediction: str) -> None:
    assert not is_too_hard(prediction, "5")


def test_a_gold_answer_excuses_its_like() -> None:
    assert not is_too_hard("x(1+x)^{99}", "(x+1)^{99}x")
    assert not is_too_hard("x+" * 600 + "1", "1+" + "x+" * 600)


@pytest.mark.parametrize(
    "piece", ["9", "1,", "{", "^", "^{", "^{9^{", "!", ")", "(", r"\exp(", r"\binom{", "9^", "x ", "matrix}"]
)
def test_the_longest_answers_are_judged_at_once(piece: str) -> None:
    text = piece * (10_000 // len(piece))
    begun = time.process_time()
    is_too_hard(text, text[:-1])
    assert time.process_time() - begun < 0.5
