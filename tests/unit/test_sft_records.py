"""Training examples of files: three forms, two formats, and damage that is named with the file and the line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from agnostics.train.sft.records import Conversation, PlainText, PromptCompletion, read_records
from agnostics.types.errors import UsageError

MESSAGES = [{"role": "user", "content": "Add."}, {"role": "assistant", "content": "print(1)"}]
ROWS: list[dict[str, Any]] = [
    {"prompt": "Add.", "completion": "print(1)", "task": "t/1"},
    {"prompt": "Add.", "completion": "print(1)", "system": "Be short."},
    {"messages": MESSAGES},
    {"messages": [*MESSAGES, {"role": "tool", "content": ""}, MESSAGES[1]], "append_only": True},
    {"text": "A text."},
]
RECORDS = [
    PromptCompletion("Add.", "print(1)"),
    PromptCompletion("Add.", "print(1)", "Be short."),
    Conversation(tuple(MESSAGES)),
    Conversation((*MESSAGES, {"role": "tool", "content": ""}, MESSAGES[1]), append_only=True),
    PlainText("A text."),
]


def written(path: Path, *lines: str) -> Path:
    path.write_text("\n".join(lines) + "\n")
    return path


def test_each_form_is_read_with_its_place_and_blank_lines_are_skipped(tmp_path: Path) -> None:
    first, *others = map(json.dumps, ROWS)
    path = written(tmp_path / "data.jsonl", first, "", *others)
    places, records = zip(*read_records(path), strict=True)
    assert list(records) == RECORDS
    assert places == tuple(f"{path}:{line}" for line in (1, 3, 4, 5, 6))


def test_parquet_holds_the_same_records_as_json_lines(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    path, keys = tmp_path / "data.parquet", {key for row in ROWS for key in row}
    parquet.write_table(pa.Table.from_pylist([{key: row.get(key) for key in keys} for row in ROWS]), path)
    places, records = zip(*read_records(path), strict=True)
    assert list(records) == RECORDS
    assert places[3] == f"{path}:4"


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("{", "not a line of JSON"),
        ("\udcff", "not a line of JSON"),
        ("[1]", 'expected an object with "prompt" and "completion", "messages", or "text"'),
        ('{"prompt": "Add."}', "the keys are prompt"),
        ("{}", "the keys are none"),
        ('{"prompt": "Add.", "completion": " "}', '"completion" is empty'),
        ('{"prompt": "", "completion": "x"}', '"prompt" is empty'),
        ('{"prompt": 3, "completion": "x"}', '"prompt" is not a text but 3'),
        ('{"text": "\\ud800"}', '"text" is not valid Unicode'),
        ('{"messages": "x"}', '"messages" is not a list'),
        ('{"messages": []}', "no message is of the assistant"),
        ('{"messages": [{"role": "user", "content": "x"}]}', "no message is of the assistant"),
        ('{"messages": [{"role": "assistant", "content": "x"}]}', "nothing to answer"),
        (
            '{"messages": [{"role": "user", "content": "x"}, {"role": "assistant"}]}',
            'message 2: "content" is not a text',
        ),
        (
            '{"append_only": true, "messages": [{"role": "user", "content": "x"},'
            ' {"role": "assistant", "content": "x"},'
            ' {"role": "tool", "content": "x"}, {"role": "tool", "content": "x"}]}',
            "message 4: an append-only conversation has one message",
        ),
        ('{"messages": [{"content": "x"}]}', 'message 1: "role" is not a text but missing'),
    ],
)
def test_a_damaged_line_is_named_with_its_file_and_number(line: str, complaint: str, tmp_path: Path) -> None:
    path = tmp_path / "data.jsonl"
    path.write_bytes(b'{"text": "good"}\n\n' + line.encode(errors="surrogateescape") + b"\n")
    with pytest.raises(UsageError) as caught:
        list(read_records(path))
    message = str(caught.value)
    assert message.startswith(f"{path}:3: ")
    assert complaint in message
    assert "\n" not in message


@pytest.mark.parametrize("name", ["data.parquet", "data.jsonl"])
def test_a_file_that_is_not_there_is_named(name: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=f"{name}: no such file"):
        list(read_records(tmp_path / name))


def test_a_damaged_parquet_file_is_a_usage_error(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    with pytest.raises(UsageError, match=r"data.parquet:1: not a readable Parquet file"):
        list(read_records(written(tmp_path / "data.parquet", "no Parquet")))
