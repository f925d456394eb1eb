"""The JSONL adapter: it reads what was written, and says where and what is wrong with the rest."""

from __future__ import annotations

import json
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from agnostics.plugins.manager import load_plugins
from agnostics.types.errors import UsageError
from agnostics_datasets.jsonl import JsonLines

LINE = {"id": "a", "statement": "Add.", "tests": [{"input": "1 2", "output": "3"}]}


def _written(folder: Path, *lines: Any) -> str:
    path = folder / "tasks.jsonl"
    path.write_text("".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines))
    return str(path)


def test_every_field_of_a_task_is_read(tmp_path: Path) -> None:
    full = {
        **LINE,
        "compare": {"mode": "floats", "absolute": 0.5},
        "limits": {"run_s": 2},
        "family": "sum",
        "parameters": {"k": 1},
        "tags": ["easy"],
        "difficulty": "easy",
        "metadata": {"year": 2026},
    }
    (task,) = JsonLines().tasks("train", source=_written(tmp_path, full))
    assert task.compare.absolute == 0.5
    assert (task.limits.run_s, task.family, task.tags, task.metadata) == (2, "sum", ("easy",), {"year": 2026})


def test_lines_are_for_training_unless_they_say_otherwise(tmp_path: Path) -> None:
    source = _written(tmp_path, LINE, "", {**LINE, "id": "b", "split": "test"}, {**LINE, "id": "c", "split": "extra"})
    ids = {split: [task.id for task in JsonLines().tasks(split, source=source)] for split in ("train", "test", "extra")}
    assert ids == {"train": ["a"], "test": ["b"], "extra": ["c"]}


def test_a_file_without_held_out_lines_holds_nothing_out(tmp_path: Path) -> None:
    assert list(JsonLines().tasks("test", source=_written(tmp_path, LINE))) == []


def test_an_unknown_split_is_refused_with_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="unknown split 'tran'; did you mean 'train'"):
        list(JsonLines().tasks("tran", source=_written(tmp_path, LINE)))


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ('{"id": "b", ', "not a line of JSON"),
        ("[1]", "expected a JSON object"),
        ("[" * 100_000, "not a line of JSON"),
        ({**LINE, "id": "b", "tets": []}, "unknown key 'tets'; did you mean 'tests'"),
        ({**LINE, "id": "b", "tests": []}, "tests: "),
        ({"id": "b", "statement": "Add."}, "tests: Field required"),
        ({**LINE, "id": "b", "tests": [{"input": "1"}]}, r"tests\.0\.output: Field required"),
        ({**LINE, "id": "b", "limits": {"run_s": 0}}, r"limits\.run_s: "),
        ({**LINE, "id": "b", "split": 3}, "split: expected a string"),
        (LINE, "the id 'a' is that of line 1"),
    ],
)
def test_a_bad_line_is_refused_with_its_file_and_number(tmp_path: Path, line: Any, complaint: str) -> None:
    source = _written(tmp_path, LINE, line)
    with pytest.raises(UsageError, match=rf"^\S*tasks\.jsonl:2: .*{complaint}") as error:
        list(JsonLines().tasks("train", source=source))
    assert "\n" not in str(error.value)


def test_bytes_that_are_no_text_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "tasks.jsonl"
    path.write_bytes(b'{"id": "\xff"}\n')
    with pytest.raises(UsageError, match=r"tasks\.jsonl:1: not a line of JSON"):
        list(JsonLines().tasks("train", source=str(path)))


def test_tasks_stream_before_the_file_is_read_to_its_end(tmp_path: Path) -> None:
    source = _written(tmp_path, LINE, "broken")
    assert [task.id for task in islice(JsonLines().tasks("train", source=source), 1)] == ["a"]


@pytest.mark.parametrize("text", ["", "\n \n"])
def test_a_file_without_tasks_is_an_error(tmp_path: Path, text: str) -> None:
    (tmp_path / "tasks.jsonl").write_text(text)
    with pytest.raises(UsageError, match="holds no tasks"):
        list(JsonLines().tasks("train", source=str(tmp_path / "tasks.jsonl")))


def test_a_missing_file_and_no_file_at_all_are_refused_at_once(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such file"):
        JsonLines().tasks("train", source=str(tmp_path / "none.jsonl"))
    with pytest.raises(UsageError, match="needs a file"):
        JsonLines().tasks("train")


def test_a_bare_path_finds_the_adapter_by_its_ending(tmp_path: Path) -> None:
    dataset, source = load_plugins().dataset(_written(tmp_path, LINE))
    assert dataset.name == "jsonl"
    assert [task.id for task in dataset.tasks("train", source=source)] == ["a"]
