"""MBPP converted by rule: the formats that are described are those of the tests, and what has no format is left out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from agnostics.types.task import Task
from agnostics_datasets.mbpp_stdio import REPEATED, MbppStdio
from agnostics_datasets.mbpp_stdio.shapes import Unsupported, shape_of


def _tasks(folder: Path, *records: dict[str, Any], split: str = "train") -> list[Task]:
    path = folder / "mbpp.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return list(MbppStdio().tasks(split, source=str(path)))


def _record(
    *asserts: str, number: int = 700, code: str = "", text: str = "Write a function to do it."
) -> dict[str, Any]:
    return {"task_id": number, "text": text, "code": code, "test_list": list(asserts)}


def test_a_problem_becomes_a_statement_with_formats_and_tests(tmp_path: Path) -> None:
    record = _record(
        "assert mean([1, 2], 'a b') == 1.5",
        "assert mean((), 'c')==0",
        code="def mean(numbers, title='x'):\r\n    return 1",
        text="Write a python function to find\r\n the mean using lambda function.",
    )
    (task,) = _tasks(tmp_path, record)
    assert (task.id, task.compare.mode) == ("mbpp-stdio/700", "floats")
    assert [(test.input, test.output) for test in task.tests] == [("2\n1 2\na b\n", "1.5\n"), ("0\n\nc\n", "0.0\n")]
    assert task.statement == (
        "# Problem\n\nWrite a program to find the mean.\n\n# Input\n\n"
        "- numbers: a line with the number of integers, then a line with the integers, separated by spaces\n"
        "- title: a line with a text\n\n# Output\n\n"
        "Print a number. An absolute or relative error of 0.0001 is allowed.\n\n# Examples\n\n"
        "Input 1:\n```\n2\n1 2\na b\n```\n\nOutput 1:\n```\n1.5\n```"
    )


@pytest.mark.parametrize(
    ("values", "read", "printed", "mode"),
    [
        ([5, -1], "5\n", "5\n", "tokens"),
        ([True, False], "true\n", "true\n", "tokens"),
        ([2.5, 1], "2.5\n", "2.5\n", "floats"),
        ([1, 2.5], "1\n", "1.0\n", "floats"),
        ([[1, 2], [2.5]], "2\n1 2\n", "1.0 2.0\n", "floats"),
        (["ab", "c"], "ab\n", "ab\n", "tokens"),
        (["a  b", "c"], "a  b\n", "a  b\n", "lines"),
        (["", "c"], "\n", "\n", "lines"),
        ([(1, 2), []], "2\n1 2\n", "1 2\n", "tokens"),
        ([["a b", "c"], ["d"]], "2\na b\nc\n", "a b\nc\n", "lines"),
        ([["a", "c"], ["d"]], "2\na c\n", "a c\n", "tokens"),
        ([[(1, 2), [3]], [[]], []], "2\n2 1 2\n1 3\n", "1 2\n3\n", "lines"),
        ([[True, False]], "2\ntrue false\n", "true false\n", "tokens"),
        ([[], ()], "0\n\n", "\n", "tokens"),
    ],
)
def test_values_are_written_as_their_formats_say(values: list[Any], read: str, printed: str, mode: str) -> None:
    shape = shape_of(values)
    assert (shape.written(values[0], sized=True), shape.written(values[0], sized=False)) == (read, printed)
    assert shape.comparison().mode == mode
    assert None not in (shape.input_format(), shape.output_format())


@pytest.mark.parametrize(
    "values",
    [
        [{1: 2}],
        [{1}],
        [None],
        [1j],
        [float("inf")],
        [1 << 63],
        [1, "a"],
        [1, True],
        [[1, "a"]],
        [1, [1]],
        [[1], [[1]]],
        [[], 1],
        [[[1]], [[[1]]]],
        [[["a b"]]],
        ["a\nb"],
        ["a\tb"],
        [[1, [2]]],
    ],
)
def test_values_without_a_rule_are_left_out(values: list[Any]) -> None:
    with pytest.raises(Unsupported):
        shape_of(values)


@pytest.mark.parametrize(
    "asserts",
    [
        ("assert f(1) == 1", "assert f(2) == 1"),
        ("assert f(1) == 1", "assert f((1)) == 2"),
        ("assert f([1]) == 1", "assert f((1,)) == 2"),
        ("assert set(f(1)) == {1}", "assert f(1) == 2"),
        ("assert f(1) == 1", "assert g(2) == 2"),
        ("assert f(1) == 1", "assert f(2, 3) == 2"),
        ("assert f(x) == 1", "assert f(2) == 2"),
        ("assert f(n=1) == 1", "assert f(n=2) == 2"),
        ("assert f(1) != 1", "assert f(2) == 2"),
        ("f(1) == 1", "assert f(2) == 2"),
        ("assert f(1) ==", "assert f(2) == 2"),
    ],
)
def test_asserts_that_are_no_tests_of_inputs_and_outputs_are_left_out(asserts: tuple[str, ...], tmp_path: Path) -> None:
    assert _tasks(tmp_path, _record(*asserts)) == []


def test_results_that_are_labels_are_all_shown(tmp_path: Path) -> None:
    found = [f"assert f({n}) == '{label}'" for n, label in enumerate(("Found it!", "Not found!", "Not found!"))]
    (task,) = _tasks(tmp_path, _record(*found))
    assert "Output 1:\n```\nFound it!\n```" in task.statement
    assert "Output 2:\n```\nNot found!\n```" in task.statement
    assert "Output 3" not in task.statement
    (other,) = _tasks(tmp_path, _record("assert f(1) == 'a'", "assert f(2) == 'b'"))
    assert "Output 2" not in other.statement


def test_the_splits_are_those_of_mbpp_without_what_they_repeat(tmp_path: Path) -> None:
    asserts = ("assert f(1) == 1", "assert f(2) == 2")
    numbers = (1, 10, 11, 510, 511, 600, 601, 974, min(REPEATED))
    records = [_record(*asserts, number=number) for number in numbers]
    found = {split: [task.id for task in _tasks(tmp_path, *records, split=split)] for split in MbppStdio.splits}
    assert found == {
        "train": [f"mbpp-stdio/{number}" for number in (1, 10, 601, 974)],
        "validation": ["mbpp-stdio/511", "mbpp-stdio/600"],
        "test": ["mbpp-stdio/11", "mbpp-stdio/510"],
    }
    assert min(REPEATED) > 510


def test_a_function_with_other_parameters_than_its_asserts_has_numbered_arguments(tmp_path: Path) -> None:
    asserts = ("assert f(1, 2) == 1", "assert f(2, 3) == 2")
    for code in ("def f(*values):\n    pass", "f = max", "def f(a): pass", "def f("):
        (task,) = _tasks(tmp_path, _record(*asserts, code=code))
        assert "- argument 1: a line with an integer\n- argument 2: a line with an integer" in task.statement
