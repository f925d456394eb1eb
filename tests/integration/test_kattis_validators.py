"""Output validators of Kattis packages judge in the sandbox: each in its language, started as Kattis starts it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from agnostics.plugins.manager import load_plugins
from agnostics.types.language import Language
from agnostics.types.task import Task
from agnostics.verify import Verifier
from agnostics_datasets.kattis import Kattis

PYTHON = """
import sys

def main():
    given, expected = int(open(sys.argv[1]).read()), open(sys.argv[2]).read()
    feedback, most = sys.argv[3], int(sys.argv[4])
    open(feedback + "judgemessage.txt", "w").write("judged")
    try:
        a, b = map(int, sys.stdin.read().split())
    except ValueError:
        sys.exit(43)
    sys.exit(42 if a + b == given and max(a, b) <= most and expected.split() == ["yes"] else 43)

main()
"""
HEADER = """
#pragma once
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <string>
void accept();
void reject(const std::string &feedback);
"""
CPP = """
#include "judge.h"
using namespace std;
static int helper() { return 0; }
int main(int argc, char **argv) {
    int given, a = helper(), b;
    string expected, more;
    ifstream(argv[1]) >> given;
    ifstream(argv[2]) >> expected;
    if (!(cin >> a >> b) || (cin >> more)) reject(argv[3]);
    if (a + b != given || max(a, b) > atoi(argv[4]) || expected != "yes") reject(argv[3]);
    accept();
}
"""
SECOND = """
#include "judge.h"
static int helper() { return 43; }
void accept() { exit(42); }
void reject(const std::string &feedback) {
    std::ofstream(feedback + "judgemessage.txt") << "wrong";
    exit(helper());
}
"""
BUILD = (
    "#!/bin/sh\nset -e\ncp logic.py made.py\nprintf '#!/bin/sh\\nexec python3 made.py \"$@\"\\n' > run\nchmod +x run\n"
)
VALIDATORS = {
    "python": {"judge.py": PYTHON},
    "cpp": {
        "judge/judge.cc": CPP.replace("judge.h", "include/judge.h"),
        "judge/second/second.cpp": SECOND.replace("judge.h", "../include/judge.h"),
        "judge/include/judge.h": HEADER,
    },
    "build": {"judge/build": BUILD, "judge/logic.py": PYTHON},
}
CRASHES = {
    "python": {"judge.py": "raise SystemExit(1)"},
    "cpp": {"judge.cc": "#include <cstdlib>\nint main() { abort(); }\n"},
    "build": {"judge/build": "#!/bin/sh\nexit 1\n"},
}
RIGHT = "local n = io.read('*n') print(n - 1, 1)"
WRONG = {
    "local n = io.read('*n') print(n, 1)": "wrong_answer",
    "local n = io.read('*n') print(n + 100, -100)": "wrong_answer",
    "print('none')": "wrong_answer",
    "error()": "runtime_error",
}


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Verifier]:
    """A sandbox with the language of validators."""
    language = load_plugins().language("kattis-validator")
    with Verifier("bubblewrap", 1, languages={language.name: language}) as made:
        yield made


def package(folder: Path, validator: dict[str, str]) -> Task:
    files = {
        "problem.yaml": "name: Two addends\nvalidation: custom\nvalidator_flags: 100\n",
        "problem_statement/problem.en.md": "Print two numbers up to 100 whose sum is the given one.\n",
        "data/sample/1.in": "7\n",
        "data/sample/1.ans": "yes\n",
        "data/secret/1.in": "50\n",
        "data/secret/1.ans": "yes\n",
        **{f"output_validators/{name}": text for name, text in validator.items()},
    }
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    (task,) = Kattis().tasks("train", source=str(folder))
    return task


@pytest.mark.parametrize("kind", VALIDATORS)
def test_an_output_validator_tells_right_from_wrong(
    kind: str, sandbox: Verifier, languages: dict[str, Language], tmp_path: Path
) -> None:
    if kind == "cpp" and not shutil.which("g++"):
        pytest.skip("no C++ compiler here: apt-get install g++")
    task = package(tmp_path, VALIDATORS[kind])
    assert sandbox.verify(languages["lua"], RIGHT, task).verdict == "accepted"
    for program, verdict in WRONG.items():
        assert sandbox.verify(languages["lua"], program, task).verdict == verdict


@pytest.mark.parametrize("kind", VALIDATORS)
def test_a_validator_that_crashes_is_our_fault_and_not_the_programs(
    kind: str, sandbox: Verifier, languages: dict[str, Language], tmp_path: Path
) -> None:
    if kind == "cpp" and not shutil.which("g++"):
        pytest.skip("no C++ compiler here: apt-get install g++")
    result = sandbox.verify(languages["lua"], RIGHT, package(tmp_path, CRASHES[kind]))
    assert result.verdict == "sandbox_error"
    assert "the checker failed" in (result.error or "")
