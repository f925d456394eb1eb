"""A YAML file that a request names is read within bounds, and no error tells what is in it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from agnostics.types.errors import UsageError
from agnostics.types.language import Language
from processor_time import processor_time_limit

YAML = "prompt: p\nfilename: a.x\nexecute: run a.x\n"


def complaint(path: Path) -> str:
    """The complaint about a file that is no language; reading it may take no more than ten seconds."""
    with processor_time_limit(10), pytest.raises(UsageError) as raised:
        Language.from_yaml(path)
    assert "\n" not in str(raised.value)
    return str(raised.value)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("prompt: " + "[" * 3000, "nested too deeply"),
        ("prompt: " + "9" * 5000, "cannot be converted"),
        ("prompt: 2024-13-01", "cannot be converted"),
        ("prompt: !!int ''", "cannot be converted"),
        ("prompt: !!bool perhaps", "cannot be converted"),
        ("prompt: !!timestamp today", "cannot be converted"),
        ("prompt: a\0b", "characters that YAML does not allow"),
        ("prompt: [", "line 1, column 10: expected the node content, but found '<stream end>'"),
        ("1: 2\n" + YAML, "a key must be a text"),
        (YAML.replace("run", "run '"), "t.yaml:3: execute: No closing quotation"),
        (YAML.replace("run a.x", "' '  "), "execute: must name a command"),
        (YAML + 'compile: cc "a\n', "compile: No closing quotation"),
        (YAML + "#" * (1 << 20), "larger than 1048576 bytes"),
    ],
)
def test_a_file_that_is_no_language_is_refused_with_the_reason(tmp_path: Path, text: str, reason: str) -> None:
    path = tmp_path / "t.yaml"
    path.write_text(text)
    assert reason in complaint(path)


@pytest.mark.parametrize("path", ["\0.yaml", "\ud800.yaml", "x" * 5000 + ".yaml", "/dev/zero", "/dev/stdin", "/proc"])
def test_a_path_that_is_no_regular_file_is_refused(path: str) -> None:
    assert "not a readable YAML file" in complaint(Path(path))


def test_a_link_to_an_endless_device_is_refused(tmp_path: Path) -> None:
    (tmp_path / "zero.yaml").symlink_to("/dev/zero")
    assert "not a regular file" in complaint(tmp_path / "zero.yaml")


def test_a_pipe_that_nobody_writes_to_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo.yaml")
    assert "not a regular file" in complaint(tmp_path / "fifo.yaml")


@pytest.mark.parametrize(
    "text",
    [
        "hunter2:*:19000:0:99999:7:::\n",
        "password: hunter2 : x",
        "password: *hunter2",
        "password: !hunter2 x",
        "password: !%27%22hunter2 x",
        "%TAG !hunter2! x\n---\n%TAG",
        'password: "hunter2',
        "[hunter2]: x",
        "hunter2: !!float hunter2",
        "2024-13-01: hunter2",
        YAML + "limits: {run_s: hunter2}\n",
        YAML + "install: [hunter2]\n",
        YAML + "container: {type: hunter2}\n",
    ],
)
def test_a_complaint_does_not_quote_the_file(tmp_path: Path, text: str) -> None:
    (tmp_path / "secret").write_text(text)
    (tmp_path / "link.yaml").symlink_to("secret")
    assert "hunter2" not in complaint(tmp_path / "link.yaml")


def test_a_file_that_is_no_text_is_refused_without_its_bytes(tmp_path: Path) -> None:
    (tmp_path / "bytes.yaml").write_bytes(b"ab\xff")
    assert complaint(tmp_path / "bytes.yaml").endswith("bytes.yaml: not a readable YAML file: not UTF-8 at byte 2")
