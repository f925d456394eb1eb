"""`benchmarks/session_replay.py`: correct programs solve every problem through the whole path of `agn session`."""

from __future__ import annotations

import json
import runpy
import subprocess
import sys
from pathlib import Path
from random import Random
from typing import Any

import pytest
from agnostics.types.task import Comparison, Task, Test
from agnostics_datasets.esolang_references import REFERENCES
from command_line import Agn

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "session_replay.py"
BENCH = runpy.run_path(str(SCRIPT))
REAL = Path(__file__).parents[3] / "shared" / "data" / "esolang_bench" / "esolang_benchmark.json"
FEW = {"E05": 1, "E08": 2, "M01": 1, "H03": 0, "X02": 0}
"""Some problems, and their failed submissions."""


def invented(name: str) -> Task:
    """A problem whose tests are drawn by the reference solution."""
    blank = [Test(input="", output="")] * 6
    tests = REFERENCES[name].fresh_tests(blank, Random(name))
    return Task(id=name, statement="Invented.", tests=tests, compare=Comparison(mode="lines"))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with a data set of a few problems, the programs, and a home of the test's own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    tasks = [{"split": "test", **invented(name).model_dump(exclude_defaults=True)} for name in FEW]
    (tmp_path / "tasks.jsonl").write_text("".join(f"{json.dumps(task)}\n" for task in tasks))
    lines = [line for line in BENCH["replay_lines"]() if line["problem"] in FEW]
    (tmp_path / "programs.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return tmp_path


@pytest.mark.parametrize(("protocol", "solved"), [("primary", 5), ("controlled", 2)])
@pytest.mark.usefixtures("folder")
def test_correct_programs_solve_what_their_submissions_allow(agn: Agn, protocol: str, solved: int) -> None:
    new = ("--language", "whitespace", "--player", "replay", "--dataset", "tasks.jsonl", "--protocol", protocol)
    where = ("--set", "programs=programs.jsonl", "--sandbox", "bubblewrap", "--store", "results.db", "--name", "one")
    answer = agn("session", "run", *new, *where, "--json")
    assert answer.json == {"session": "one", "solved": solved, "problems": 5, "complete": True}
    problems: dict[str, Any] = agn("session", "export", "one", "--store", "results.db").json["problems"]
    assert {name: one["runs"] for name, one in problems.items()} == dict.fromkeys(FEW, 1)
    if protocol == "primary":
        assert {name: len(one["submissions"]) for name, one in problems.items()} == {
            name: failed + 1 for name, failed in FEW.items()
        }
        assert {submission["passed"] for one in problems.values() for submission in one["submissions"]} == {0, 6}
    else:
        assert [name for name, one in problems.items() if one["status"] == "failed"] == ["E05", "E08", "M01"]


@pytest.mark.slow
@pytest.mark.skipif(not REAL.is_file(), reason="EsoLang-Bench is not beside this checkout (../shared/data)")
def test_correct_programs_solve_all_80_problems_on_published_and_on_fresh_tests(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    command = [sys.executable, str(SCRIPT), "--data", str(REAL), "--folder", str(tmp_path), "--sandbox", "bubblewrap"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    for session in ("published", "resealed"):
        totals = json.loads(done.stdout)[session]
        assert (totals["solved"], totals["tests_passed"], totals["runs"]) == (80, 480, 80)
        assert totals["submissions"] == 80 + sum(BENCH["failures"]().values())
