"""`agn traces`: programs of a data set, a file and a run are traced into files that survive being killed, and shown."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from agnostics.store import CompletionRecord, Store
from agnostics.traces.cwm_format import parse_text
from agnostics.traces.records import read_records
from agnostics.types.language import Language
from agnostics.types.task import Task, Test
from agnostics.types.verification import Verdict
from command_line import Agn, Answer
from msgspec.structs import replace

IN_BUBBLEWRAP = ("--sandbox", "bubblewrap", "--slots", "2")
OWN = """
prompt: Use the shell.
filename: program.sh
execute: sh program.sh
reference:
  echo: cat
trace:
  execute: sh trace.sh
  files:
    trace.sh: |
      read -r line
      echo '{"e":"line","l":1,"d":0,"v":{"in":"'"$line"'"}}' > "$AGN_TRACE"
      echo '{"end":"complete"}' >> "$AGN_TRACE"
      sh program.sh
"""
"""A language in a YAML file, whose tracer notes the first line of the input."""


@pytest.fixture
def own(tmp_path: Path) -> str:
    path = tmp_path / "own.yaml"
    path.write_text(OWN)
    return str(path)


def write(path: Path, *rows: dict[str, Any]) -> str:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


def make(agn: Agn, output: Path, *arguments: str) -> Answer:
    return agn("traces", "make", "-o", str(output), *IN_BUBBLEWRAP, *arguments)


def ids(path: Path) -> list[str]:
    return [record.id for record in read_records(path)]


@pytest.mark.parametrize("suffix", ["jsonl", "parquet"])
def test_programs_in_a_file_are_traced_on_their_inputs(agn: Agn, tmp_path: Path, suffix: str) -> None:
    program = "def f(n):  # << START_OF_TRACE\n    return n * 2\nprint(f(int(input())))\n"
    rows = [{"program": program, "input": "4\n"}, {"program": "x = '\ud83d\ude00\\n'", "id": "a"}, {"program": "1/0"}]
    source, output = write(tmp_path / "programs.jsonl", *rows), tmp_path / f"traces.{suffix}"
    answer = make(agn, output, "--programs", source, "--language", "python")
    assert answer.returncode == 0, answer.stderr
    assert "3 of 3 traces" in answer.stderr
    records = list(read_records(output))
    assert [(record.id, record.verdict, record.stdout, record.ended) for record in records] == [
        ("1", "accepted", "8\n", "complete"),
        ("a", "accepted", "", "complete"),
        ("3", "runtime_error", "", "complete"),
    ]
    trace = records[0].trace()
    assert trace
    assert [event.value for event in trace.events] == [None, None, "8"]
    assert "ZeroDivisionError" in records[2].stderr
    assert not (tmp_path / f"traces.{suffix}.partial").exists()
    assert make(agn, output, "--programs", source, "--language", "python").returncode == 2
    shown = agn("traces", "show", str(output), "--format", "cwm").stdout
    assert parse_text(shown.removesuffix("\n")).context == program
    text = agn("traces", "show", str(output), "--id", "3").stdout
    assert "    1 exception 1/0  → ZeroDivisionError: division by zero\n" in text
    page = tmp_path / "trace.html"
    assert agn("traces", "show", str(output), "--html", str(page)).returncode == 0
    assert "3 events, complete" in page.read_text()
    assert agn("traces", "show", str(output), "--html", str(page)).returncode == 2
    assert agn("traces", "show", str(output), "--id", "b").complaint == "agn: unknown trace 'b'; known: 1, 3, a"


def test_reference_programs_of_a_data_set_are_traced_on_each_test(agn: Agn, tmp_path: Path, own: str) -> None:
    tests = [{"input": f"{n}\n", "output": f"{n}\n"} for n in range(2)]
    rows = [
        {"id": f"t{n}", "statement": "", "tests": tests, "family": family} for n, family in enumerate(["echo", "x"])
    ]
    output = tmp_path / "traces.jsonl"
    source = write(tmp_path / "tasks.jsonl", *rows)
    answer = make(agn, output, "--dataset", source, "--language", own)
    assert answer.returncode == 0, answer.stderr
    assert [(record.id, record.program, record.stdout) for record in read_records(output)] == [
        ("t0/1", "cat", ""),
        ("t0/2", "cat", ""),
    ]
    assert agn("traces", "show", str(output), "--id", "t0/2").stdout.startswith("        in = 1\n    1 line      cat\n")


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ([], "name the programs"),
        (["last", "--dataset", "starter"], "name the programs"),
        (["--dataset", "starter"], "--language"),
        (["--dataset", "starter", "--language", "r"], "r has no tracer"),
        (["--dataset", "starter", "--language", "python"], "no reference program"),
        (["--dataset", "starter", "--language", "python", "--verdict", "accepted"], "--verdict selects programs"),
        (["--dataset", "starter", "--language", "python", "--events", "0"], "--events: Input should be"),
    ],
)  # fmt: skip
def test_what_does_not_go_together_is_one_line(agn: Agn, tmp_path: Path, arguments: list[str], complaint: str) -> None:
    answer = make(agn, tmp_path / "traces.jsonl", *arguments)
    assert answer.returncode == 2
    assert complaint in answer.complaint


def test_a_line_that_is_no_program_is_named(agn: Agn, tmp_path: Path) -> None:
    source = write(tmp_path / "programs.jsonl", {"program": "x = 1"}, {"code": "x"})
    answer = make(agn, tmp_path / "traces.jsonl", "--programs", source, "--language", "python")
    assert (answer.returncode, "programs.jsonl:2" in answer.complaint) == (2, True)


def test_the_distinct_programs_of_a_run_are_traced_as_they_are_filtered(
    agn: Agn, tmp_path: Path, own: str, database: str, record: Callable[..., CompletionRecord]
) -> None:
    task = Task(id="t", tests=(Test(input="1\n", output="1\n"), Test(input="2\n", output="2\n")))
    with Store.open(database) as store:
        language = Language.from_yaml(Path(own))
        run = store.start_run(kind="train", config={}, language=language, model="m", dataset="d", seed=0)
        with store.recorder(run) as recorder:
            for sample, (program, verdict) in enumerate(
                [("cat", Verdict.ACCEPTED), ("cat", Verdict.ACCEPTED), ("true", Verdict.WRONG_ANSWER)]
            ):
                recorder.completion(replace(record(verdict, sample=sample, program=program), task=task))
        store.finish_run(run, "finished", {})
    output = tmp_path / "traces.jsonl"
    answer = make(agn, output, "last:train", "--language", own, "--store", database)
    assert answer.returncode == 0, answer.stderr
    records = list(read_records(output))
    assert [(record.program, record.input) for record in records] == [
        *(("cat", "1\n"), ("cat", "2\n")),
        *(("true", "1\n"), ("true", "2\n")),
    ]
    answer = make(agn, output, "last", "--language", own, "--store", database, "--verdict", "wrong_answer", "--force")
    assert answer.returncode == 0, answer.stderr
    assert {record.program for record in read_records(output)} == {"true"}
    assert make(agn, tmp_path / "other.jsonl", "last:eval", "--store", database).returncode == 2


@pytest.mark.parametrize("suffix", ["jsonl", "parquet"])
def test_after_kill_9_the_same_command_goes_on_without_a_loss_or_a_double(
    agn: Agn, tmp_path: Path, suffix: str
) -> None:
    rows = [{"program": f"import time\ntime.sleep(0.1)\nx = {n}\n", "id": f"p{n}"} for n in range(24)]
    source, output = write(tmp_path / "programs.jsonl", *rows), tmp_path / f"traces.{suffix}"
    partial = tmp_path / f"traces.{suffix}.partial"
    command = ["traces", "make", "-o", str(output), *IN_BUBBLEWRAP, "--programs", source, "--language", "python"]
    with subprocess.Popen([sys.executable, "-m", "agnostics", *command], stderr=subprocess.DEVNULL) as process:
        deadline = time.monotonic() + 60
        while not (partial.exists() and partial.read_bytes().count(b"\n") >= 5):
            assert time.monotonic() < deadline
            time.sleep(0.02)
        process.send_signal(signal.SIGKILL)
    before = partial.read_bytes()
    there = before[: before.rindex(b"\n") + 1]
    assert 5 <= there.count(b"\n") < 24
    partial.write_bytes(there + b'{"key":"half of a li')
    stamp = partial.stat().st_ino
    answer = agn(*command)
    assert answer.returncode == 0, answer.stderr
    assert ids(output) == [f"p{n}" for n in range(24)]
    if suffix == "jsonl":
        assert output.read_bytes().startswith(there)
        assert output.stat().st_ino == stamp
    assert not partial.exists()


def test_traces_with_other_limits_are_not_mixed(agn: Agn, tmp_path: Path) -> None:
    source, output = write(tmp_path / "p.jsonl", {"program": "x = 1"}), tmp_path / "traces.jsonl"
    arguments = ("--programs", source, "--language", "python")
    assert make(agn, output, *arguments).returncode == 0
    output.rename(tmp_path / "traces.jsonl.partial")
    answer = make(agn, output, *arguments, "--value", "5")
    assert (answer.returncode, "1 traces of other programs" in answer.complaint) == (1, True)
    assert make(agn, output, *arguments, "--value", "5", "--force").returncode == 0
    assert ids(output) == ["1"]


def test_an_interrupt_leaves_what_is_there(tmp_path: Path) -> None:
    rows = [{"program": f"x = {n}\nimport time\ntime.sleep({0 if n < 3 else 60})"} for n in range(6)]
    source, output = write(tmp_path / "p.jsonl", *rows), tmp_path / "traces.jsonl"
    command = ["traces", "make", "-o", str(output), *IN_BUBBLEWRAP, "--programs", source, "--language", "python"]
    partial = tmp_path / "traces.jsonl.partial"
    with subprocess.Popen([sys.executable, "-m", "agnostics", *command], stderr=subprocess.PIPE) as process:
        deadline = time.monotonic() + 60
        while not (partial.exists() and partial.read_bytes().count(b"\n") >= 3):
            assert time.monotonic() < deadline
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=20) == 130
    assert partial.read_bytes().count(b"\n") == 3
    assert not output.exists()


def test_two_processes_do_not_write_one_file(agn: Agn, tmp_path: Path) -> None:
    source, output = write(tmp_path / "p.jsonl", {"program": "import time\ntime.sleep(60)"}), tmp_path / "traces.jsonl"
    command = ["traces", "make", "-o", str(output), *IN_BUBBLEWRAP, "--programs", source, "--language", "python"]
    with subprocess.Popen([sys.executable, "-m", "agnostics", *command], stderr=subprocess.DEVNULL) as process:
        deadline = time.monotonic() + 60
        while not (tmp_path / "traces.jsonl.partial").exists():
            assert time.monotonic() < deadline
            time.sleep(0.02)
        answer = agn(*command)
        process.kill()
    assert (answer.returncode, "another process writes it" in answer.complaint) == (2, True)


def test_a_file_that_has_no_traces_is_named_with_its_line(agn: Agn, tmp_path: Path) -> None:
    path = tmp_path / "traces.jsonl"
    for text in ("x\n", "{}\n", '{"key": 1}\n', "[]\n", "\xff\n"):
        path.write_bytes(text.encode("latin-1"))
        answer = agn("traces", "show", str(path))
        assert (answer.returncode, "traces.jsonl:1" in answer.complaint) == (2, True)
