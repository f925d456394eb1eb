"""Ag-LiveCodeBench-X: packed tests are opened without being run, and only what any language can solve is kept."""

from __future__ import annotations

import base64
import json
import os
import pickle
import zlib
from pathlib import Path
from typing import Any

import pytest
from agnostics.types.errors import UsageError
from agnostics.types.task import Task, Test
from agnostics_datasets import packed
from agnostics_datasets.live_code_bench import LiveCodeBench
from agnostics_datasets.packed import unpack

CASES = [{"input": "1 2\n", "output": "3\n", "testtype": "stdin"}]


def pack(value: Any, protocol: int = 4) -> str:
    return seal(pickle.dumps(value, protocol=protocol))


def seal(data: bytes) -> str:
    return base64.b64encode(zlib.compress(data)).decode()


def record(**changes: Any) -> dict[str, Any]:
    plain = {
        "question_id": "abc1",
        "question_content": "Print the sum.\n",
        "private_test_cases": pack(json.dumps(CASES)),
    }
    return {**plain, **changes}


def tasks(folder: Path, *records: dict[str, Any]) -> list[Task]:
    path = folder / "test.jsonl"
    path.write_text("".join(json.dumps(each) + "\n" for each in records))
    return list(LiveCodeBench().tasks("test", source=str(path)))


def test_a_record_of_the_published_form_becomes_a_task(tmp_path: Path) -> None:
    (task,) = tasks(tmp_path, record())
    assert (task.id, task.statement) == ("ag-livecodebench-x/abc1", "Print the sum.")
    assert task.tests == (Test(input="1 2\n", output="3\n"),)


def test_a_record_of_livecodebench_itself_becomes_the_same_tests(tmp_path: Path) -> None:
    more = {
        "starter_code": "",
        "difficulty": "easy",
        "platform": "atcoder",
        "public_test_cases": "[]",
        "metadata": "{}",
    }
    packed_one, open_one = tasks(tmp_path, record(**more), record(**more, private_test_cases=json.dumps(CASES)))
    assert packed_one == open_one
    assert (packed_one.difficulty, packed_one.tags) == ("easy", ("atcoder",))


def test_functions_and_starter_code_are_left_out(tmp_path: Path) -> None:
    function = [*CASES, {"input": "[1]", "output": "1", "testtype": "functional"}]
    graded = {"input_output": json.dumps({"inputs": ["[1]"], "outputs": ["1"], "fn_name": "first"})}
    assert not tasks(
        tmp_path,
        record(private_test_cases=pack(json.dumps(function))),
        record(private_test_cases=pack(graded)),
        record(starter_code="class Solution:"),
        record(private_test_cases="[]"),
    )


def test_a_tolerated_error_is_compared_as_floats(tmp_path: Path) -> None:
    tolerant, several = tasks(
        tmp_path,
        record(question_content="The absolute or relative error must be at most 10^{-5}."),
        record(question_content="If there are multiple answers, print any."),
    )
    assert (tolerant.compare.mode, tolerant.compare.absolute, several.compare.mode) == ("floats", 1e-5, "tokens")


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_plain_data_is_unpacked_from_every_binary_protocol(protocol: int) -> None:
    value = {"text": "\u00e9", "list": [1, -300, 1 << 40, 2.5, True, None], "nested": {"a": [[], {}]}}
    assert unpack(pack(value, protocol)) == value


class Runs:
    """Runs a command when it is unpickled."""

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return os.system, ("touch unpickled",)


@pytest.mark.parametrize(
    "data",
    [
        pickle.dumps(Runs()),
        pickle.dumps(Runs(), protocol=0),
        pickle.dumps([os.getcwd]),
        pickle.dumps({1, 2}),
        pickle.dumps((1, 2)),
        pickle.dumps(b"bytes"),
        pickle.dumps(bytearray(3), protocol=5),
        b"\x80\x02X\x01\x00\x00\x00ar\xff\xff\xff\x7f.",  # LONG_BINPUT: reserves 16 GB for a memo
        b"\x80\x02\x82\x01.",  # EXT1: an object of the extension registry
        b"\x80\x02h\x05.",  # a memo that was never set
        b"\x80\x02X\xff\xff\xff\x00a.",  # a text that ends too soon
        b"\x80\x02",
        b"",
    ],
)
def test_anything_but_plain_data_is_refused_and_nothing_runs(
    data: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match="packed tests"):
        unpack(seal(data))
    assert not (tmp_path / "unpickled").exists()


@pytest.mark.parametrize("text", ["no base64!", base64.b64encode(b"no zlib").decode(), seal(bytes(range(99)))[:-8]])
def test_a_broken_pack_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="packed tests: "):
        unpack(text)


def test_a_bomb_is_not_unpacked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packed, "MOST_BYTES", 1000)
    with pytest.raises(ValueError, match="larger than 1000 bytes"):
        unpack(pack("a" * 2000))


@pytest.mark.parametrize("cases", [pack(3), pack("{}"), pack("nothing"), "[1]", "x", pack(Runs())])
def test_a_record_with_broken_tests_is_refused_with_its_line(cases: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"test\.jsonl:2: ") as error:
        tasks(tmp_path, record(), record(private_test_cases=cases))
    assert "\n" not in str(error.value)
