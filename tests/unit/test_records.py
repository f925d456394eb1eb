"""Records of published data sets: every file format gives the same tasks, one at a time, and says what is wrong."""

from __future__ import annotations

import gzip
import json
import sys
import tracemalloc
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from agnostics.types.dataset import HubSource
from agnostics.types.errors import AgnosticsError, MissingRequirement, UsageError
from agnostics_datasets.code_contests import CodeContests
from agnostics_datasets.hub import hub_rows

PROBLEM = {
    "name": "1_A. Sum",
    "description": "Print the sum.",
    "public_tests": {"input": ["1 2\n"], "output": ["3\n"]},
    "source": 2,
}


def tasks(source: Path | str, split: str = "train") -> list[str]:
    return [task.id.rpartition("/")[2] for task in CodeContests().tasks(split, source=str(source))]


def named(name: str, **changes: Any) -> dict[str, Any]:
    return {**PROBLEM, "name": name, **changes}


def lines(*records: Any) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


def write_jsonl(path: Path, *records: Any) -> None:
    path.write_text(lines(*records))


def write_packed(path: Path, *records: Any) -> None:
    path.write_bytes(gzip.compress(lines(*records).encode()))


def write_json(path: Path, *records: Any) -> None:
    path.write_text(json.dumps(records))


def write_parquet(path: Path, *records: Any) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    pytest.importorskip("pyarrow.parquet").write_table(pyarrow.Table.from_pylist(list(records)), path)


WRITERS = {".jsonl": write_jsonl, ".jsonl.gz": write_packed, ".json": write_json, ".parquet": write_parquet}


@pytest.mark.parametrize(("ending", "write"), WRITERS.items())
def test_every_format_gives_the_same_tasks(ending: str, write: Callable[..., None], tmp_path: Path) -> None:
    write(tmp_path / f"train{ending}", PROBLEM, named("1_B. Sum"))
    (first, second) = CodeContests().tasks("train", source=str(tmp_path / f"train{ending}"))
    assert (first.id, second.id) == ("code-contests/codeforces/1_A. Sum", "code-contests/codeforces/1_B. Sum")
    assert first.model_dump(exclude={"id"}) == second.model_dump(exclude={"id"})


def test_a_file_is_of_the_split_that_its_name_says(tmp_path: Path) -> None:
    write_jsonl(tmp_path / "test.jsonl", PROBLEM)
    write_jsonl(tmp_path / "mine.jsonl", PROBLEM)
    assert [tasks(tmp_path / "test.jsonl", split) for split in CodeContests.splits] == [[], [], ["1_A. Sum"]]
    assert [tasks(tmp_path / "mine.jsonl", split) for split in CodeContests.splits] == [["1_A. Sum"], [], []]


def test_a_folder_gives_all_files_of_a_split_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    for name in ("train10", "train2", "train", "test", "notes"):
        write_jsonl(tmp_path / f"{name}.jsonl", named(name))
    assert tasks(tmp_path) == ["train", "train2", "train10"]


def test_tasks_come_before_the_file_is_read_to_its_end(tmp_path: Path) -> None:
    (tmp_path / "train.jsonl").write_text(lines(PROBLEM) + "broken\n")
    (first,) = islice(CodeContests().tasks("train", source=str(tmp_path / "train.jsonl")), 1)
    assert first.statement == "Print the sum."


def test_memory_does_not_grow_with_the_number_of_records(tmp_path: Path) -> None:
    """4 MB in 40 records; one at a time takes less than a fifth of it."""
    long = {"input": ["7" * 100_000], "output": ["1"]}
    write_jsonl(tmp_path / "train.jsonl", *(named(str(number), public_tests=long) for number in range(40)))
    tracemalloc.start()
    try:
        count = sum(1 for _ in CodeContests().tasks("train", source=str(tmp_path / "train.jsonl")))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert count == 40
    assert peak < 1_500_000


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("{", r"train\.jsonl:2: not a line of JSON"),
        ("[" * 100_000, r"train\.jsonl:2: not a line of JSON"),
        ("[]", r"train\.jsonl:2: Input should be a valid dictionary"),
        (json.dumps({**PROBLEM, "name": 3}), r"train\.jsonl:2: name: Input should be a valid string"),
        (json.dumps({"name": "x"}), r"train\.jsonl:2: description: Field required"),
        (
            json.dumps({**PROBLEM, "public_tests": {"input": ["1", "2"], "output": ["1"]}}),
            r"train\.jsonl:2: zip\(\) argument 2 is shorter",
        ),
    ],
)
def test_a_malformed_line_is_refused_with_its_number(text: str, complaint: str, tmp_path: Path) -> None:
    (tmp_path / "train.jsonl").write_text(f"{lines(PROBLEM)}{text}\n")
    with pytest.raises(UsageError, match=complaint) as error:
        tasks(tmp_path / "train.jsonl")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("name", "content", "complaint"),
    [
        ("train.json", b'{"a": 1}', "expected a JSON array"),
        ("train.json", b"\xff", "not a JSON file"),
        ("train.parquet", b"PAR0", "not a Parquet file"),
        ("train.jsonl.gz", b"no gzip", "Not a gzipped file"),
        ("train.jsonl.gz", gzip.compress(b"{" * 9999, mtime=0)[:-9], "ended before the end"),
        ("train.csv", b'name,description\n"x', r"train\.csv:\d: not a row of CSV"),
        ("train.csv", b"name,description\nx\n", r"train\.csv:2: expected 2 cells"),
        ("train.txt", b"", "expected a file ending in"),
    ],
)
def test_a_file_that_is_not_what_its_name_says_is_refused(
    name: str, content: bytes, complaint: str, tmp_path: Path
) -> None:
    if name.endswith(".parquet"):
        pytest.importorskip("pyarrow")
    (tmp_path / name).write_bytes(content)
    with pytest.raises(UsageError, match=complaint) as error:
        tasks(tmp_path / name)
    assert "\n" not in str(error.value)


def test_what_is_not_there_is_refused_at_once(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such file"):
        CodeContests().tasks("train", source=str(tmp_path / "none.jsonl"))
    with pytest.raises(UsageError, match=r"holds no files such as train\.jsonl"):
        CodeContests().tasks("train", source=str(tmp_path))


def test_a_hub_that_does_not_answer_is_said_at_once_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("datasets")
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(AgnosticsError, match=r"deepmind/code_contests at \w{40}: the hub does not answer") as error:
        CodeContests().tasks("train")
    assert "\n" not in str(error.value)


def test_without_its_client_the_hub_is_a_missing_requirement(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(MissingRequirement, match=r"pip install 'agnostics-datasets\[hub\]'"):
        hub_rows(HubSource("a/b", None), "train")
