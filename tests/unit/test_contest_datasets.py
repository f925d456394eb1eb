"""The adapters of contest problems: what each source's own format becomes, and what is left out."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from agnostics.types.dataset import Dataset
from agnostics.types.errors import UsageError
from agnostics.types.task import Comparison, LimitOverrides, Task, Test
from agnostics_datasets.apps import Apps
from agnostics_datasets.code_contests import CodeContests
from agnostics_datasets.statement_rules import comparison_of
from agnostics_datasets.taco import Taco

Tasks = Callable[..., list[Task]]


@pytest.fixture
def tasks_of(tmp_path: Path) -> Tasks:
    """The tasks that an adapter makes of records, written as a JSONL file of the hub would be."""

    def read(adapter: Dataset, *records: Any, split: str | None = None, seed: int = 0) -> list[Task]:
        path = tmp_path / "records.jsonl"
        path.write_text("".join(json.dumps(record) + "\n" for record in records))
        return list(adapter.tasks(split or adapter.splits[0], source=str(path), seed=seed))

    return read


@pytest.mark.parametrize(
    ("statement", "mode"),
    [
        ("Print the sum.", "tokens"),
        ('Print "YES" or "NO". You can print each letter in any case.', "tokens"),
        ("You may take the cards in any order. Print the largest sum.", "tokens"),
        ("If there are multiple answers, print any of them.", None),
        ("If there are several ways to do so, you can output any.", None),
        ("If there are many optimal plans, you may print any one of them.", None),
        ("Print any suitable value of d.", None),
        ("Print the edges. You can print the edges in any order.", None),
        ("In case of multiple answers, print the first.", None),
        ("This is an interactive problem. Flush the output.", None),
    ],
)
def test_a_statement_shows_whether_one_output_is_correct(statement: str, mode: str | None) -> None:
    compare = comparison_of(statement)
    assert (compare and compare.mode) == mode


@pytest.mark.parametrize(
    ("statement", "tolerance"),
    [
        ("Your answer is correct if its absolute or relative error does not exceed 10^{-4}.", 1e-4),
        ("The relative or absolute error must be at most 10 ^ - 9.", 1e-9),
        ("An absolute error of at most 1e-5 is fine.", 1e-5),
        ("The relative error should be less than 0.001.", 1e-3),
        ("A small absolute error is tolerated.", 1e-6),
    ],
)
def test_a_tolerated_error_is_the_tolerance_of_the_comparison(statement: str, tolerance: float) -> None:
    assert comparison_of(statement) == Comparison(mode="floats", absolute=tolerance, relative=tolerance)


CODE_CONTESTS = {
    "name": "1_A. Sum",
    "description": " Print the sum.\n",
    "public_tests": {"input": ["1 2\n"], "output": ["3\n"]},
    "private_tests": {"input": ["5 5\n"], "output": ["10\n"]},
    "generated_tests": {"input": ["0 0\n"], "output": ["0\n"]},
    "source": 2,
    "difficulty": 7,
    "solutions": {"language": [3], "solution": ["print(sum(map(int, input().split())))"]},
    "cf_contest_id": 1,
    "cf_rating": 800,
    "cf_tags": ["math", ""],
    "time_limit": {"seconds": 1, "nanos": 500000000},
    "memory_limit_bytes": 256000000,
    "input_file": "",
    "output_file": "",
}


def test_code_contests_has_public_private_and_generated_tests_and_the_limits(tasks_of: Tasks) -> None:
    (task,) = tasks_of(CodeContests(), CODE_CONTESTS)
    assert (task.id, task.statement) == ("code-contests/codeforces/1_A. Sum", "Print the sum.")
    assert [test.output for test in task.tests] == ["3\n", "10\n", "0\n"]
    assert task.limits == LimitOverrides(run_s=1.5, memory_mb=244)
    assert (task.difficulty, task.tags, task.metadata) == ("A", ("math",), {"rating": 800})


def test_code_contests_leaves_out_what_it_cannot_judge(tasks_of: Tasks) -> None:
    none: dict[str, list[str]] = {"input": [], "output": []}
    assert not tasks_of(
        CodeContests(),
        {**CODE_CONTESTS, "public_tests": none, "private_tests": none, "generated_tests": none},
        {**CODE_CONTESTS, "input_file": "sum.in", "output_file": "sum.out"},
        {**CODE_CONTESTS, "description": "If there are several answers, print any."},
    )


def test_code_contests_without_limits_sets_none(tasks_of: Tasks) -> None:
    (task,) = tasks_of(CodeContests(), {**CODE_CONTESTS, "time_limit": None, "memory_limit_bytes": 0})
    assert task.limits == LimitOverrides()
    assert task.tests[0] == Test(input="1 2\n", output="3\n")


def in_out(inputs: list[Any], outputs: list[Any], **more: Any) -> str:
    return json.dumps({"inputs": inputs, "outputs": outputs, **more})


APPS = {
    "id": 7,
    "question": "Print the sum.\n",
    "solutions": '["print(sum(map(int, input().split())))"]',
    "input_output": in_out(["1 2\n"], ["3\n"]),
    "difficulty": "interview",
    "url": "https://example.org/7",
    "starter_code": "",
}
TACO = {
    "question": "Print the sum.",
    "starter_code": "",
    "input_output": in_out(["1 2\n"], ["3\n"]),
    "difficulty": "EASY",
    "raw_tags": "['math']",
    "name": None,
    "source": "codeforces",
    "tags": "['Mathematics', 'Greedy algorithms']",
    "skill_types": "[]",
    "url": "https://example.org/1",
    "Expected Auxiliary Space": None,
    "time_limit": "1.0 - 2.5 seconds",
    "date": None,
    "picture_num": "0",
    "memory_limit": "256.0 megabytes",
    "Expected Time Complexity": None,
}


def test_apps_becomes_tasks(tasks_of: Tasks) -> None:
    (task,) = tasks_of(Apps(), APPS)
    assert (task.id, task.statement, task.difficulty) == ("apps/train/7", "Print the sum.", "interview")
    assert task.tests == (Test(input="1 2\n", output="3\n"),)
    assert task.metadata == {"url": "https://example.org/7"}


def test_taco_becomes_tasks_with_their_limits_and_topics(tasks_of: Tasks) -> None:
    first, second = tasks_of(Taco(), TACO, {**TACO, "time_limit": None, "memory_limit": "1.5 GB", "tags": None})
    assert (first.id, second.id) == ("taco/train/0", "taco/train/1")
    assert first.limits == LimitOverrides(run_s=2.5, memory_mb=256)
    assert second.limits == LimitOverrides(memory_mb=1536)
    assert first.tags == ("Mathematics", "Greedy algorithms")
    assert first.metadata == {"source": "codeforces", "url": "https://example.org/1"}


@pytest.mark.parametrize(("adapter", "record"), [(Apps(), APPS), (Taco(), TACO)], ids=["apps", "taco"])
def test_what_is_for_python_only_or_has_no_tests_is_left_out(
    adapter: Dataset, record: dict[str, Any], tasks_of: Tasks
) -> None:
    assert not tasks_of(
        adapter,
        {**record, "input_output": ""},
        {**record, "input_output": in_out([], [])},
        {**record, "input_output": in_out([[1, 2]], [3], fn_name="sum")},
        {**record, "starter_code": "class Solution:"},
        {**record, "question": "If there are several answers, print any."},
    )


def test_lists_of_lines_and_numbers_of_any_length_are_read(tasks_of: Tasks) -> None:
    long = "7" * 5000
    (task,) = tasks_of(Apps(), {**APPS, "input_output": f'{{"inputs": [["1", {long}]], "outputs": [["a", "b"]]}}'})
    assert task.tests == (Test(input=f"1\n{long}\n", output="a\nb\n"),)


@pytest.mark.parametrize(
    "broken", ["{", "[" * 100_000, '{"inputs": ["1"], "outputs": []}', '{"inputs": [null], "outputs": ["1"]}']
)
def test_broken_tests_are_refused_with_the_line(broken: str, tasks_of: Tasks) -> None:
    with pytest.raises(UsageError, match=r"records\.jsonl:2: "):
        tasks_of(Apps(), APPS, {**APPS, "input_output": broken})
