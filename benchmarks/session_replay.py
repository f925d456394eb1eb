"""The correct programs of EsoLang-Bench, replayed as agent sessions through the whole path of `agn session`.

python benchmarks/session_replay.py --data esolang_benchmark.json --folder FOLDER [--sandbox docker]

A session on the published tests and one on fresh tests (`--reseal 1`), both in Whitespace. Every fourth problem is
first tried with a program that prints one character too many, and every seventh twice, so that submissions fail and are
counted. Prints, for each session, what the referee counted; fails if a problem is not solved as expected.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from agnostics_benchmarks.esolang_programs import program_for, task_ids, wrong_program_for

LANGUAGE = "whitespace"
LIMIT_S = 3600
PUBLISHED = "published"
SESSIONS = {PUBLISHED: (), "resealed": ("--reseal", "1")}
INPUT = "3 4"
"""What the first program of a problem is run on before it is submitted."""


def failures() -> dict[str, int]:
    """The failed submissions of each problem: two of every seventh, one of every other fourth."""
    return {problem: 2 if not place % 7 else int(not place % 4) for place, problem in enumerate(task_ids())}


def replay_lines() -> Iterator[dict[str, Any]]:
    """The lines of the file for the player `replay`."""
    for problem, failed in failures().items():
        wrong, right = wrong_program_for(problem, LANGUAGE), program_for(problem, LANGUAGE)
        programs = [*[wrong] * failed, right]
        for place, program in enumerate(programs):
            yield {"problem": problem, "program": program, "inputs": [INPUT] if place == 0 else []}


def main() -> None:
    """Play both sessions, and print their totals."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="EsoLang-Bench's file, esolang_benchmark.json")
    parser.add_argument("--folder", type=Path, required=True, help="where programs, database and exports are kept")
    parser.add_argument("--sandbox", default="auto", help="the sandbox, as in agn session run")
    arguments = parser.parse_args()
    folder = arguments.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    programs = folder / "programs.jsonl"
    programs.write_text("".join(f"{json.dumps(line)}\n" for line in replay_lines()), encoding="utf-8")
    report = {name: _played(name, arguments.data, programs, arguments.sandbox) for name in SESSIONS}
    print(json.dumps(report, indent=2))


def _played(name: str, data: Path, programs: Path, sandbox: str) -> dict[str, Any]:
    """The totals of a session, which stays in the database of the folder."""
    name, store = f"{name}-{sandbox}", str(programs.parent / "results.db")
    new = ("--language", LANGUAGE, "--player", "replay", "--dataset", f"esolang-bench:{data.resolve()}")
    options = ("--set", f"programs={programs}", "--sandbox", sandbox, "--name", name)
    reseal = SESSIONS[name.removesuffix(f"-{sandbox}")]
    _agn("run", *new, *options, *reseal, "--store", store)
    export: dict[str, Any] = json.loads(_agn("export", name, "--store", store))
    for problem, failed in failures().items():
        one = export["problems"][problem]
        told = (one["status"], len(one["submissions"]), one["runs"])
        if told != (expected := ("solved", 1 + failed, 1)):
            raise SystemExit(f"{name}: problem {problem} is {told}, not {expected}")
    seconds = sum(one["seconds"] for one in export["problems"].values())
    return {**export["totals"], "complete": export["complete"], "seconds": round(seconds, 1)}


def _agn(*words: str) -> str:
    command = [sys.executable, "-m", "agnostics", "session", *words]
    return subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True, timeout=LIMIT_S).stdout


if __name__ == "__main__":
    main()
