"""Gives aider the open problem of the session, in the box: python one_problem.py FILE AIDER...

Its tests are `python one_problem.py FILE PROBLEM --submit`: they fail until the problem is final.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

_TASK = "Write into {file} a program that solves this problem. Each edit is submitted at once.\n\n{statement}"


def _session(*arguments: str) -> dict[str, Any]:
    done = subprocess.run(["session", *arguments, "--json"], stdout=subprocess.PIPE, check=False, timeout=3600)
    reply: dict[str, Any] = json.loads(done.stdout)
    return reply


def _submit(problem: str, file: str) -> int:
    reply = _session("submit", problem, file)
    print(reply["text"])
    return 0 if reply["data"].get("final") else 1


def _solve(file: str, aider: list[str]) -> None:
    """Become aider, unless there is no problem."""
    reply = _session("fetch")
    if reply["status"] != "ok":
        sys.exit(reply["text"])
    task = Path("problem.txt")
    task.write_text(_TASK.format(file=file, statement=reply["text"]), "utf-8")
    tests = shlex.join([sys.executable, __file__, file, reply["data"]["problem"], "--submit"])
    Path(file).write_text("", "utf-8")
    os.execvp(aider[0], [*aider, "--auto-test", "--test-cmd", tests, "--message-file", str(task), file])


if __name__ == "__main__":
    name, *others = sys.argv[1:]
    if others[1:] == ["--submit"]:
        sys.exit(_submit(others[0], name))
    _solve(name, others)
