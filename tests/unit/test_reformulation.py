"""Reformulation of problems: the prompt, the parsing of completions, and the checks that need no sandbox."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from agnostics.inference.openai_client import EndpointCompletion
from agnostics.inference.response_cache import ResponseCache
from agnostics.task_prep import checks, reference_runner
from agnostics.task_prep.draft import DraftRejected, TaskDraft, parse_draft, task_from_draft
from agnostics.task_prep.problem import FunctionProblem
from agnostics.task_prep.prompt import reformulation_prompt
from agnostics.task_prep.reference import output_format

PAPER = Path(__file__).parents[3] / "shared" / "papers" / "agnostics.txt"
PROBLEM = FunctionProblem(
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
    assert reformulation_prompt(PROBLEM) == appendix.strip()


# Parsing


def test_the_object_is_found_in_a_code_block_and_without_one() -> None:
    text = json.dumps({**ANSWER, "title": "Primes"})
    fenced = f"<think>```json\n{{}}\n```</think>Here:\n```json\n{text}\n```\nDone."
    assert _parse(text) == _parse(fenced) == TaskDraft.model_validate(ANSWER)
    task = task_from_draft(PROBLEM, _parse(fenced), "wise")
    assert task.statement == (
        "Given an integer N, determine whether it is a non-prime number.\n\n"
        "Input format: a single integer N\n\nOutput format: a single line containing 'True' or 'False'"
    )
    assert [(test.input, test.output) for test in task.tests] == [("2\n", "False\n"), ("10\n", "True\n")]
    assert (task.id, task.compare.mode, task.metadata) == ("mbpp/3", "tokens", {"reformulated_by": "wise"})


def _parse(text: str) -> TaskDraft:
    return parse_draft(EndpointCompletion(text, 1, 1))


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
def test_a_completion_without_the_requested_object_is_rejected_with_the_place(answer: str) -> None:
    check, reason = BROKEN[answer]
    with pytest.raises(DraftRejected, match=re.escape(reason)) as caught:
        _parse(answer)
    assert caught.value.check == check
    assert len(caught.value.reason) < 300


def test_a_truncated_completion_is_rejected_even_if_it_can_be_parsed() -> None:
    with pytest.raises(DraftRejected, match="truncated"):
        parse_draft(EndpointCompletion(json.dumps(ANSWER), 1, 1, truncated=True))


@pytest.mark.parametrize(
    ("fields", "check", "reason"),
    [
        ({"input_format": " \n"}, checks.has_all_sections, "input_format is blank"),
        ({"description": "\x1b[2JDo it."}, checks.is_plain_text, "holds the character U+001B"),
        ({"tests": [{"input": "2\0", "output": ""}]}, checks.is_plain_text, "holds the character U+0000"),
        ({"description": "Write `is_not_prime (n)`."}, checks.names_no_function, "still asks for the function"),
        (
            {"tests": [{"input": "2", "output": "False"}, {"input": "2\n", "output": "True"}]},
            checks.has_consistent_tests,
            "test 2 has another output",
        ),
    ],
)
def test_each_check_finds_its_defect_and_no_other_does(
    fields: dict[str, Any], check: checks.Check, reason: str
) -> None:
    draft = _parse(_with(**fields))
    assert reason in str(check(draft, PROBLEM))
    assert [other for other in checks.CHECKS if other is not check and other(draft, PROBLEM)] == []
    fine = _parse(
        _with(description="Given\u00a0N \N{LESS-THAN OR EQUAL TO} 3:\r\n\tsay \N{CJK UNIFIED IDEOGRAPH-4E00}.")
    )
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
def test_an_input_matches_arguments_with_or_without_sizes_and_in_either_order(
    arguments: tuple[Any, ...], text: str
) -> None:
    orders = [tuple(range(len(arguments))), tuple(reversed(range(len(arguments))))]
    assert any(reference_runner.input_matches(text, arguments, order) for order in orders)


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
def test_an_input_with_other_words_matches_nothing(arguments: tuple[Any, ...], text: str) -> None:
    assert not reference_runner.input_matches(text, arguments, range(len(arguments)))


def test_inputs_that_differ_in_the_order_of_arguments_are_rejected() -> None:
    cases = [((1, 2), 0), ((3, 4), 0)]
    assert reference_runner.argument_order(cases, ["2 1", "4 3"]) == (1, 0)
    for inputs, reason in (
        (["1 2", "4 3"], "different orders"),
        (["1 2", "3 5"], "test 2 matches"),
        (["1 2"], "leave"),
    ):
        with pytest.raises(SystemExit, match=reason):
            reference_runner.argument_order(cases, inputs)


def test_an_input_matches_one_case_to_the_letter_if_two_differ_only_in_spaces() -> None:
    cases = [((" a",), "no"), (("a",), "yes")]
    assert [reference_runner.matching_case(text, cases, (0,)) for text in (" a\n", "a\n")] == cases
    with pytest.raises(SystemExit, match="matches 2 test cases"):
        reference_runner.matching_case("1 2 3", [(([1, 2], [3]), 0), (([1], [2, 3]), 1)], (0, 1))


def test_outputs_are_formatted_as_the_prompt_says_in_the_spelling_of_the_draft() -> None:
    def draft(*outputs: str) -> TaskDraft:
        return _parse(_with(tests=[{"input": "1", "output": output} for output in outputs]))

    formatted: Callable[..., str] = reference_runner.formatted
    assert formatted([[1, 2], (3, 4)], output_format(draft("1 2\n3 4"))) == "1 2\n3 4"
    assert formatted(2 / 3, output_format(draft("0.6667"))) == "0.6667"
    assert formatted([True, False], output_format(draft("YES NO"))) == "YES NO"
    assert formatted(4.0, output_format(draft("4"))) == "4"
    assert formatted(4.0, output_format(draft("4", "0.5"))) == "4.0000"
    assert formatted({"a": [1, 2], "b": []}, output_format(draft("a"))) == "a 1 2\nb "
    assert task_from_draft(PROBLEM, draft("0.6667"), "m").compare.mode == "floats"


# The cache


def test_a_response_is_cached_by_model_prompt_and_limit_and_a_damaged_file_is_ignored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    completion = EndpointCompletion("ünïcode \0", 3, 4, truncated=True)
    cache = ResponseCache("wise", 100)
    cache.put("why", completion)
    assert cache.get("why") == completion
    others = [ResponseCache("other", 100).get("why"), ResponseCache("wise", 99).get("why"), cache.get("how")]
    assert others == [None] * 3
    (path,) = (tmp_path / "agnostics" / "responses").glob("*/*")
    path.write_bytes(path.read_bytes()[:-3])
    assert cache.get("why") is None
