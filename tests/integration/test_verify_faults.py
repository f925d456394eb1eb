"""`agn verify` when its input, its output or its sandbox is broken, and within bounded memory."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from agnostics.sandbox.cgroups import find_parent_groups

AGN = [sys.executable, "-m", "agnostics", "verify", "--sandbox", "bubblewrap", "--slots", "2"]
LUA_YAML = "prompt: Write Lua.\nfilename: a.lua\nexecute: luajit a.lua\n"
TESTS = [{"input": "", "output": "42"}]


@pytest.fixture
def request_of_lua(tmp_path: Path) -> dict[str, Any]:
    """A right program in Lua by a YAML file, so that no pack need be installed."""
    (tmp_path / "mylua.yaml").write_text(LUA_YAML)
    return {"id": "good", "language": str(tmp_path / "mylua.yaml"), "program": "print(42)", "tests": TESTS}


def verify(data: bytes) -> tuple[int, list[dict[str, Any]], str]:
    """The exit status, the replies and stderr."""
    done = subprocess.run(AGN, input=data, capture_output=True, timeout=60)
    return done.returncode, [json.loads(line) for line in done.stdout.splitlines()], done.stderr.decode()


def test_a_signal_to_end_leaves_no_control_groups(request_of_lua: dict[str, Any]) -> None:
    with subprocess.Popen(AGN, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdin
        assert process.stdout
        process.stdin.write(json.dumps(request_of_lua).encode() + b"\n")
        process.stdin.flush()
        assert b"accepted" in process.stdout.readline()
        process.terminate()
        assert process.wait(timeout=30) == 130
    parents = find_parent_groups()
    folders = {parents.memory, parents.pids, parents.cpu} - {None}
    assert not [path for folder in folders if folder for path in folder.glob(f"agnostics-{process.pid}-*")]


def test_no_line_ends_the_stream(request_of_lua: dict[str, Any], tmp_path: Path) -> None:
    """Each line that cannot be read is one error, and the programs around it are verified."""
    texts = {
        "deep": LUA_YAML + "environment: " + "[" * 3000,
        "quote": LUA_YAML.replace("luajit", "luajit '"),
        "nul": LUA_YAML + 'environment: {A: "\\0"}\n',
        "surrogate": LUA_YAML + 'environment: {A: "\\uD800"}\n',
    }
    for name, text in texts.items():
        (tmp_path / f"{name}.yaml").write_text(text)
    os.mkfifo(tmp_path / "fifo.yaml")
    (tmp_path / "zero.yaml").symlink_to("/dev/zero")
    paths = [str(tmp_path / f"{name}.yaml") for name in (*texts, "fifo", "zero")] + ["\0.yaml", "\ud800.yaml"]
    good = json.dumps(request_of_lua)
    bad = [json.dumps({**request_of_lua, "id": "bad", "language": path}) for path in paths]
    bad += ["[" * 10_000, '{"id": ' + "9" * 5000, good.replace('"good"', "NaN"), good.replace('"good"', "1e999")]
    code, replies, stderr = verify("".join(f"{good}\n{line}\n" for line in bad).encode())
    assert (code, stderr) == (1, "")
    assert [reply["verdict"] for reply in replies if reply["id"] == "good"] == ["accepted"] * len(bad)
    errors = [reply for reply in replies if reply["id"] != "good"]
    assert [sorted(reply) for reply in errors] == [["error", "id"]] * len(bad)
    assert {reply["id"] for reply in errors} == {"bad", None}


@pytest.mark.parametrize(
    ("redirection", "code", "error"),
    [
        (">&-", 2, "agn: stdout is closed, so the results would be lost; connect it to a file or a pipe\n"),
        ("1</dev/null", 1, "agn: stdout: Bad file descriptor\n"),
        ("<&-", 2, "agn: stdin is closed; name a file, or connect stdin to one\n"),
        ("0>/dev/null", 2, "agn: <stdin>: cannot be read: Bad file descriptor\n"),
        (">/dev/full", 1, "agn: stdout: No space left on device\n"),
    ],
)
def test_a_stream_that_cannot_be_used_is_one_line_of_error(
    request_of_lua: dict[str, Any], redirection: str, code: int, error: str
) -> None:
    command = ["sh", "-c", f'"$@" {redirection}', "sh", *AGN]
    data = json.dumps(request_of_lua).encode() + b"\n"
    done = subprocess.run(command, input=data, capture_output=True, timeout=60)
    assert (done.returncode, done.stderr.decode()) == (code, error)


@pytest.mark.parametrize("redirection", ["2>&-", "<&-", "<&- 2>&-"])
def test_a_file_is_verified_without_the_streams_that_it_does_not_need(
    request_of_lua: dict[str, Any], tmp_path: Path, redirection: str
) -> None:
    (tmp_path / "in.jsonl").write_text(json.dumps(request_of_lua) + "\n")
    command = ["sh", "-c", f'"$@" {redirection}', "sh", *AGN, str(tmp_path / "in.jsonl")]
    done = subprocess.run(command, stdout=subprocess.PIPE, timeout=60)
    assert (done.returncode, json.loads(done.stdout)["verdict"]) == (0, "accepted")


def test_verdicts_of_a_broken_sandbox_are_counted_and_fail(request_of_lua: dict[str, Any]) -> None:
    checker = {"language": "lua", "program": "os.exit(7)"}
    broken = {**request_of_lua, "id": "broken", "compare": {"mode": "checker", "checker": checker}}
    lines = [json.dumps(line).encode() + b"\n" for line in (broken, request_of_lua, broken)]
    code, replies, stderr = verify(b"".join(lines))
    assert sorted(reply["verdict"] for reply in replies) == ["accepted", "sandbox_error", "sandbox_error"]
    assert (code, stderr) == (1, "agn: the sandbox failed on 2 of 3 programs; `agn doctor` checks it\n")


def test_a_stream_of_large_requests_takes_bounded_memory(request_of_lua: dict[str, Any]) -> None:
    """Fifty of 8 MB with two slots: 1.2 GB if all of them were queued."""
    line = json.dumps({**request_of_lua, "tests": [{"input": "x" * 8_000_000, "output": "42"}]}).encode() + b"\n"
    with subprocess.Popen(AGN, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as stream:
        assert stream.stdin
        assert stream.stdout
        writer = Thread(target=stream.stdin.writelines, args=([line] * 50,))
        writer.start()
        verdicts = [json.loads(stream.stdout.readline())["verdict"] for _ in range(50)]
        writer.join()
        status = Path(f"/proc/{stream.pid}/status").read_text()
    assert verdicts == ["accepted"] * 50
    (peak_kib,) = re.findall(r"VmHWM:\s+(\d+)", status)
    assert int(peak_kib) < 500 << 10
