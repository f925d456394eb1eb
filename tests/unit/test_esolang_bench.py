"""The EsoLang-Bench adapter: what the file holds becomes tasks, and what is wrong with it is said in one line."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from agnostics.plugins.manager import load_plugins
from agnostics.types.errors import UsageError
from agnostics.types.task import Test
from agnostics_datasets.esolang_bench import EsolangBench

REAL = Path(__file__).parents[3] / "shared" / "data" / "esolang_bench" / "esolang_benchmark.json"


def _problem(name: str, difficulty: str = "easy", **changes: Any) -> dict[str, Any]:
    examples = [{"input": "   a ", "output": "   a "}, {"input": "", "output": ""}]
    texts = {"title": f"Echo {name}", "description": "Echo the line."}
    return {"id": name, "difficulty": difficulty, **texts, "input_output_examples": examples, **changes}


Written = Callable[..., str]


@pytest.fixture
def written(tmp_path: Path) -> Written:
    """Writes a file in the benchmark's format; its path."""

    def write(*problems: Any, text: str | None = None) -> str:
        categories = {"basic_io": ["E01"], "strings": ["E01", "X03"]}
        data = {"metadata": {"version": "2.0", "problem_categories": categories}, "problems": [*problems]}
        path = tmp_path / "esolang_benchmark.json"
        path.write_text(json.dumps(data) if text is None else text)
        return str(path)

    return write


def test_problems_become_tasks_with_every_part_of_them(written: Written) -> None:
    source = written(_problem("E01"), _problem("M02", "medium"), _problem("X03", "extra_hard"))
    first, second, third = EsolangBench().tasks("test", source=source)
    assert (first.id, first.statement) == ("E01", "Echo E01\n\nEcho the line.")
    assert first.tests == (Test(input="   a ", output="   a "), Test(input="", output=""))
    assert [task.tags for task in (first, second, third)] == [("basic_io", "strings"), (), ("strings",)]
    assert [task.difficulty for task in (first, second, third)] == ["easy", "medium", "extra_hard"]
    assert first.compare.mode == "lines"


def test_the_plugin_manager_finds_it_by_name_and_file(written: Written) -> None:
    dataset, source = load_plugins().dataset(f"esolang-bench:{written(_problem('E01'))}")
    assert [task.id for task in dataset.tasks("test", source=source)] == ["E01"]


def test_there_is_nothing_to_train_on(written: Written) -> None:
    with pytest.raises(UsageError, match="unknown split 'train'; known: test"):
        EsolangBench().tasks("train", source=written(_problem("E01")))


@pytest.mark.parametrize(
    ("problem", "complaint"),
    [
        (_problem("E02", "trivial"), "problem 'E02': difficulty: Input should be"),
        (_problem("E02", title=""), "problem 'E02': title: "),
        (_problem("E02", input_output_examples=[]), "problem 'E02': input_output_examples: "),
        (
            _problem("E02", input_output_examples=[{"input": "1"}]),
            r"'E02': input_output_examples\.0\.output: Field req",
        ),
        (
            _problem("E02", input_output_examples=[{"input": 1, "output": ""}]),
            r"'E02': input_output_examples\.0\.input",
        ),
        ({"title": "no name"}, "problem number 2: id: Field required"),
        ([], "problem number 2: Input should be"),
        (_problem("E01"), "problem 'E01': 2 problems have this id"),
    ],
)
def test_a_malformed_problem_is_refused_with_the_file_and_its_name(
    written: Written, problem: Any, complaint: str
) -> None:
    source = written(_problem("E01"), problem)
    with pytest.raises(UsageError, match=rf"^\S*esolang_benchmark\.json: .*{complaint}") as error:
        list(EsolangBench().tasks("test", source=source))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("text", ["", "{", "[]", "3", "[" * 100_000, '{"problems": []}', '{"problems": {}}', "{}"])
def test_a_file_that_holds_no_problems_is_refused_in_one_line(written: Written, text: str) -> None:
    with pytest.raises(UsageError, match=r"^\S*esolang_benchmark\.json: ") as error:
        EsolangBench().tasks("test", source=written(text=text))
    assert "\n" not in str(error.value)


def test_bytes_that_are_no_text_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "esolang_benchmark.json"
    path.write_bytes(b'{"problems": "\xff"}')
    with pytest.raises(UsageError, match="not a JSON file"):
        EsolangBench().tasks("test", source=str(path))


def test_no_file_a_missing_one_and_a_folder_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="needs its file"):
        EsolangBench().tasks("test")
    with pytest.raises(UsageError, match="no such file"):
        EsolangBench().tasks("test", source=str(tmp_path / "none.json"))
    with pytest.raises(UsageError, match="Is a directory"):
        EsolangBench().tasks("test", source=str(tmp_path))


@pytest.mark.skipif(not REAL.is_file(), reason="EsoLang-Bench is not beside this checkout (../shared/data)")
def test_the_real_benchmark_has_80_problems_of_6_tests() -> None:
    tasks = list(EsolangBench().tasks("test", source=str(REAL)))
    assert [len(task.tests) for task in tasks] == [6] * 80
    assert Counter(task.difficulty for task in tasks) == {"easy": 20, "medium": 20, "hard": 20, "extra_hard": 20}
    outputs = [test.output for task in tasks for test in task.tests]
    assert "\n" not in "".join(outputs), "`lines` is the benchmark's comparison only for outputs of one line"
    assert [task.id for task in tasks if not task.tags] == ["X03"]
