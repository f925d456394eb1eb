"""What a model is asked, what is read of its answers, and what the checks that need no sandbox find."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from agnostics.inference.openai_client import Reply
from agnostics.inference.response_cache import AnswerCache
from agnostics.task_prep import checks, reference_runner
from agnostics.task_prep.draft import Draft, Rejected, read, task_of
from agnostics.task_prep.problem import Problem
from agnostics.task_prep.prompt import question
from agnostics.task_prep.reference import spelling_of

PAPER = Path(__file__).parents[3] / "shared" / "papers" / "agnostics.txt"
PROBLEM = Problem(
    id="mbpp/3",
    description="Write a python function to identify non-prime numbers.",
    cases="assert is_not_prime(2) == False\nassert is_not_prime(10) == True",
    code="def is_not_prime(n):\n    return any(n % i == 0 for i in range(2, n))",
    entry="is_not_prime",
    tests="assert is_not_prime(2) == False\nassert is_not_prime(10) == True",
    records=(),
)
ANSWER: dict[str, Any] = {
    "description": "Given an integer N, determine whether it is a non-prime number.",
    "input_format": "a single integer N",
    "output_format": "a single line containing 'True' or 'False'",
    "tests": [{"input": "2", "output": "False"}, {"input": "10", "output": "True"}],
}


@pytest.mark.skipif(not PAPER.is_file(), reason="the paper is not beside this checkout (../shared/papers)")
def test_the_prompt_is_the_papers_word_for_word() -> None:
    appendix = PAPER.read_text().partition("We used the following prompt.")[2].partition("Ag-Codeforces-X")[0]
    of_this = {"{original mbpp problem description}": PROBLEM.description, "{original mbpp test cases}": PROBLEM.cases}
    for place, text in {**of_this, "\N{LEFT SINGLE QUOTATION MARK}" * 3: "```"}.items():
        assert place in appendix
        appendix = appendix.replace(place, text)
    assert question(PROBLEM) == appendix.strip()


# Reading


def test_the_object_is_found_where_the_prompt_wants_it_and_where_it_does_not() -> None:
    text = json.dumps({**ANSWER, "title": "Primes"})
    fenced = f"<think>```json\n{{}}\n```</think>Here:\n```json\n{text}\n```\nDone."
    assert read(text) == read(fenced) == Draft.model_validate(ANSWER)
    task = task_of(PROBLEM, read(fenced), "wise")
    assert task.statement == (
        "Given an integer N, determine whether it is a non-prime number.\n\n"
        "Input format: a single integer N\n\nOutput format: a single line containing 'True' or 'False'"
    )
    assert [(test.input, test.output) for test in task.tests] == [("2\n", "False\n"), ("10\n", "True\n")]
    assert (task.id, task.compare.mode, task.metadata) == ("mbpp/3", "tokens", {"reformulated_by": "wise"})


def _with(**fields: Any) -> str:
    return json.dumps({**ANSWER, **fields})


BROKEN = {
    "": ("json", "EOF"),
    "I cannot help with that.": ("json", "expected ident"),
    "[" * 100_000: ("json", "recursion limit"),
    '{"description": "cut': ("json", "EOF"),
    '"\\ud800"': ("json", "hex escape"),
    "[]": ("schema", "object"),
    json.dumps({key: value for key, value in ANSWER.items() if key != "tests"}): ("schema", "tests: Field required"),
    _with(tests=[]): ("schema", "tests: List should have at least 1 item"),
    _with(tests=[{"input": 2, "output": "False"}]): ("schema", "tests.0.input: Input should be a valid string"),
    _with(tests=[{"input": "2", "output": None}]): ("schema", "tests.0.output: Input should be a valid string"),
    _with(tests=ANSWER["tests"] * 1000): ("schema", "tests: List should have at most 500 items"),
    _with(description="x" * 1_000_000): ("schema", "description: String should have at most"),
}


@pytest.mark.parametrize("answer", BROKEN, ids=range(len(BROKEN)))
def test_what_is_not_the_object_asked_for_is_rejected_with_the_place(answer: str) -> None:
    check, reason = BROKEN[answer]
    with pytest.raises(Rejected, match=re.escape(reason)) as caught:
        read(answer)
    assert caught.value.check == check
    assert len(caught.value.reason) < 300


def test_an_answer_that_was_cut_off_is_rejected_even_if_it_can_be_read() -> None:
    with pytest.raises(Rejected, match="cut off"):
        read(json.dumps(ANSWER), whole=False)


@pytest.mark.parametrize(
    ("fields", "check", "reason"),
    [
        ({"input_format": " \n"}, checks.says_what_to_do, "input_format is blank"),
        ({"description": "\x1b[2JDo it."}, checks.is_plain_text, "holds the character U+001B"),
        ({"tests": [{"input": "2\0", "output": ""}]}, checks.is_plain_text, "holds the character U+0000"),
        ({"description": "Write `is_not_prime (n)`."}, checks.asks_for_no_function, "still asks for the function"),
        (
            {"tests": [{"input": "2", "output": "False"}, {"input": "2\n", "output": "True"}]},
            checks.has_one_output_for_an_input,
            "test 2 wants another output",
        ),
    ],
)
def test_each_check_finds_its_fault_and_no_other_does(fields: dict[str, Any], check: checks.Check, reason: str) -> None:
    draft = read(_with(**fields))
    assert reason in str(check(draft, PROBLEM))
    assert [other for other in checks.CHECKS if other is not check and other(draft, PROBLEM)] == []
    fine = read(_with(description="Given\u00a0N \N{LESS-THAN OR EQUAL TO} 3:\r\n\tsay \N{CJK UNIFIED IDEOGRAPH-4E00}."))
    assert [check for check in checks.CHECKS if check(fine, PROBLEM)] == []


# Inputs and outputs


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ((2,), "2"),
        (([1, 2, 3], 7), "1 2 3\n7"),
        (([1, 2, 3], 7), "3\n1 2 3\n7"),
        (([1, 2, 3], 7), "3 7\n1 2 3"),
        (([1, 2, 3], 7), "7\n3\n1 2 3"),
        (([[1, 2], [3, 4], [5, 6]],), "3 2\n1 2\n3 4\n5 6"),
        (([(1, 2), (3,)], "ab"), "2\n2 1 2\n1 3\nab"),
        (("a bc", ""), "a bc\n\n"),
        ((["a b", "c"], True), "a b\nc\ntrue"),
        (({"x": 1.5, "y": None},), "x 1.50\ny None"),
        (({3, 1, 2},), "1 2 3"),
        (([],), "0"),
    ],
)
def test_an_input_states_arguments_with_or_without_sizes_and_in_either_order(
    arguments: tuple[Any, ...], text: str
) -> None:
    orders = [tuple(range(len(arguments))), tuple(reversed(range(len(arguments))))]
    assert any(reference_runner.states(text, arguments, order) for order in orders)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (([1, 2, 3], 7), "[1, 2, 3]\n7"),
        (([1, 2, 3], 7), "1,2,3\n7"),
        (([1, 2, 3], 7), "4\n1 2 3\n7"),
        (([1, 2, 3], 7), "1 2 3 3 7 7"),
        (([1, 2, 3], 7), "1 2 7"),
        (([1, 2, 3], 7), "1 3 2\n7"),
        ((1.25,), "1.2500001"),
        (("a  b",), "a b"),
        ((" a",), "a"),
        (("ab",), "'ab'"),
        ((12,), "1 2"),
        (("x", "y"), "y x"),
    ],
)
def test_an_input_with_other_words_states_nothing(arguments: tuple[Any, ...], text: str) -> None:
    assert not reference_runner.states(text, arguments, range(len(arguments)))


def test_inputs_that_differ_in_the_order_of_arguments_are_refused() -> None:
    cases = [((1, 2), 0), ((3, 4), 0)]
    assert reference_runner.order_of(cases, ["2 1", "4 3"]) == (1, 0)
    for inputs, reason in ((["1 2", "4 3"], "different orders"), (["1 2", "3 5"], "test 2 states"), (["1 2"], "leave")):
        with pytest.raises(SystemExit, match=reason):
            reference_runner.order_of(cases, inputs)


def test_an_input_states_one_case_to_the_letter_where_only_spaces_tell_two_apart() -> None:
    cases = [((" a",), "no"), (("a",), "yes")]
    assert [reference_runner.stated(text, cases, (0,)) for text in (" a\n", "a\n")] == cases
    with pytest.raises(SystemExit, match="states 2 test cases"):
        reference_runner.stated("1 2 3", [(([1, 2], [3]), 0), (([1], [2, 3]), 1)], (0, 1))


def test_outputs_are_written_as_the_prompt_says_in_the_answers_own_spelling() -> None:
    def draft(*outputs: str) -> Draft:
        return read(_with(tests=[{"input": "1", "output": output} for output in outputs]))

    written: Callable[..., str] = reference_runner.written
    assert written([[1, 2], (3, 4)], spelling_of(draft("1 2\n3 4"))) == "1 2\n3 4"
    assert written(2 / 3, spelling_of(draft("0.6667"))) == "0.6667"
    assert written([True, False], spelling_of(draft("YES NO"))) == "YES NO"
    assert written(4.0, spelling_of(draft("4"))) == "4"
    assert written(4.0, spelling_of(draft("4", "0.5"))) == "4.0000"
    assert written({"a": [1, 2], "b": []}, spelling_of(draft("a"))) == "a 1 2\nb "
    assert task_of(PROBLEM, draft("0.6667"), "m").compare.mode == "floats"


# The cache


def test_an_answer_is_found_by_model_question_and_length_and_a_damaged_one_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    reply = Reply("ünïcode \0", 3, 4, whole=False)
    answers = AnswerCache("wise", 100)
    answers.put("why", reply)
    assert answers.get("why") == reply
    assert [AnswerCache("other", 100).get("why"), AnswerCache("wise", 99).get("why"), answers.get("how")] == [None] * 3
    (path,) = (tmp_path / "agnostics" / "answers").glob("*/*")
    path.write_bytes(path.read_bytes()[:-3])
    assert answers.get("why") is None
