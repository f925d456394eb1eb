r"""The final answer of a completion: the text in its only `\boxed{...}`."""

from __future__ import annotations

import time

import pytest
from agnostics.math import final_answer
from hypothesis import given
from hypothesis import strategies as st

GROUPS = st.recursive(
    st.text(st.characters(exclude_characters="\\{}", exclude_categories=["Cs"]))
    | st.sampled_from([r"\{", r"\}", r"\\"]),
    lambda inner: st.lists(inner).map("".join) | inner.map("{{{}}}".format),
)


@pytest.mark.parametrize(
    ("completion", "answer"),
    [
        (r"So it is $\boxed{42}$.", "42"),
        (r"\boxed{\frac{1}{2}}", r"\frac{1}{2}"),
        (r"\boxed {x}", "x"),
        (r"\boxed{\{1, 2\}}", r"\{1, 2\}"),
        (r"\boxed{\left\{ 3 \right.}", r"\left\{ 3 \right."),
        ("\\boxed{\n7\n}", "7"),
        (r"<think>\boxed{1} or \boxed{2}</think> \boxed{3}", "3"),
        (r"\boxed{1}</think> \boxed{3}", "3"),
        (r"\boxedanswer{1} \boxed{2}", "2"),
    ],
)
def test_the_answer_is_what_the_only_box_holds(completion: str, answer: str) -> None:
    assert final_answer(completion) == answer


@pytest.mark.parametrize(
    "completion",
    [
        "",
        "42",
        r"\boxed{1} and \boxed{1}",
        r"\boxed{\boxed{1}}",
        r"\boxed{1",
        r"\boxed{1\}",
        r"\boxed 1",
        r"\boxed{ }",
        r"<think>\boxed{1}</think> 1",
        r"</think><think>\boxed{1}",
    ],
)
def test_no_box_or_several_are_no_answer(completion: str) -> None:
    assert final_answer(completion) is None


@given(GROUPS)
def test_any_balanced_text_comes_out_as_it_went_in(answer: str) -> None:
    assert final_answer(f"so \\boxed{{{answer}}} {{}}") == (answer.strip() or None)


@pytest.mark.parametrize("text", ["{", "}", r"\boxed{", r"\{", "<think>", " "])
def test_megabytes_take_no_long_time(text: str) -> None:
    begun = time.process_time()
    final_answer(r"\boxed{" + text * (3_000_000 // len(text)))
    assert time.process_time() - begun < 5
