"""The `math` adapter reads the formats of GSM8K, MATH-500 and AIME."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from agnostics.plugins.manager import load_plugins
from agnostics.types.errors import UsageError
from agnostics.types.task import Task, Test

Read = Callable[..., list[Task]]


@pytest.fixture
def read(tmp_path: Path) -> Read:
    """The tasks of records in a file."""

    def tasks(*records: dict[str, Any], split: str = "test", name: str = "problems.jsonl") -> list[Task]:
        path = tmp_path / name
        path.write_text("".join(f"{json.dumps(record)}\n" for record in records))
        dataset, source = load_plugins().dataset(f"math:{path}")
        return list(dataset.tasks(split, source=source))

    return tasks


def test_the_three_formats_become_tasks(read: Read) -> None:
    gsm8k = {"question": "How many?", "answer": "9 * 2 = <<9*2=18>>18\n#### 18", "idx": 0}
    math500 = {"problem": "Which?", "solution": "It is...", "answer": r"\frac{1}{2}", "subject": "Algebra", "level": 2}
    aime = {"id": 60, "problem": "When?", "solution": "204", "answer": 204, "url": "https://example.org"}
    first, second, third = read(gsm8k, {**math500, "unique_id": "test/algebra/1.json"}, aime)
    assert (first.id, first.statement, first.tests) == ("math/0", "How many?", (Test(input="", output="18"),))
    assert (second.id, second.difficulty, second.tags) == ("math/test/algebra/1.json", "2", ("Algebra",))
    assert second.tests[0].output == r"\frac{1}{2}"
    assert (third.id, third.tests[0].output, third.difficulty, third.tags) == ("math/60", "204", None, ())


def test_a_record_without_an_id_has_its_number(read: Read) -> None:
    record = {"problem": "2?", "answer": "2"}
    assert [task.id for task in read(record, record)] == ["math/0", "math/1"]


def test_the_name_of_the_file_says_its_split(read: Read) -> None:
    record = {"problem": "2?", "answer": "2"}
    assert len(read(record, split="train", name="train.jsonl")) == 1
    assert read(record, split="test", name="train.jsonl") == []


@pytest.mark.parametrize("record", [{"problem": "2?"}, {"answer": "2"}, {"problem": "2?", "answer": "#### "}])
def test_what_is_missing_is_said_with_its_line(read: Read, record: dict[str, str]) -> None:
    with pytest.raises(UsageError, match=r"problems.jsonl:1: "):
        read(record)
