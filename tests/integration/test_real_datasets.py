"""Adapters on real records: how many tasks they become, and one judged in the sandbox, done right and wrong.

What lies beside this checkout is not always in the format of the hub: then its records are put into the columns of the
hub as they are, and the adapter reads these.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from agnostics.plugins.manager import load_plugins
from agnostics.types.language import Language
from agnostics.types.task import Task
from agnostics.verify import Verifier

DATA = Path(__file__).parents[3] / "shared" / "data"
LIVE_CODE_BENCH = DATA / "code_contests" / "sandboxfusion_lcb_3.jsonl"
SOURCES = ("UNKNOWN_SOURCE", "CODECHEF", "CODEFORCES", "HACKEREARTH", "CODEJAM", "ATCODER", "AIZU")
SECTIONS = re.compile(r"(.*?)\n\s*Input\s*\n(.*?)\n\s*Output\s*\n(.*?)\n\s*Examples?\s*\n", re.DOTALL)
INTEGERS = re.compile(r"assert \w+\(([-\d, ]+)\) ?== ?(-?\d+)")

pytestmark = pytest.mark.skipif(
    not DATA.is_dir(), reason="the real records are not beside this checkout (../shared/data)"
)

Build = Callable[[Path], Path]


def lines(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def written(path: Path, records: list[Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def contests() -> Iterator[tuple[dict[str, str], str, list[dict[str, str]]]]:
    """20 problems of CodeContests: labels, statement, tests."""
    for record in lines(DATA / "code_contests" / "sandboxfusion_code_contests_20.jsonl"):
        tests = [
            {"input": test["input"]["stdin"], "output": test["output"]["stdout"]} for test in json.loads(record["test"])
        ]
        yield json.loads(record["labels"]), record["content"], tests


def code_contests(folder: Path) -> Path:
    problems = [
        {
            "name": labels["name"],
            "description": statement,
            "source": SOURCES.index(labels["source"]),
            "generated_tests": {"input": [t["input"] for t in tests], "output": [t["output"] for t in tests]},
        }
        for labels, statement, tests in contests()
    ]
    return written(folder / "train.jsonl", problems)


def codeforces(folder: Path) -> Path:
    """Those of the problems that are of Codeforces; their judges are classified here as if each had one output."""
    problems, kinds = [], []
    for labels, statement, tests in contests():
        if labels["source"] == "CODEFORCES" and (parts := SECTIONS.match(statement)):
            name = labels["name"].partition(".")[0].replace("_", "/")
            texts = dict(zip(("description", "input_format", "output_format"), parts.groups(), strict=True))
            problems.append({"id": name, "title": labels["name"], **texts, "examples": tests[:3], "note": None})
            kinds.append({"id": name, "generation": '<think></think>\n```json\n{"type": "diff"}\n```'})
    written(folder / "solutions_py_decontaminated" / "train-00000-of-00001.jsonl", problems)
    written(folder / "checker_interactor" / "train-00000-of-00001.jsonl", kinds)
    return folder


def in_columns(**columns: Any) -> Build:
    """165 problems of CodeContests as APPS and TACO have theirs: tests as JSON in a field."""

    def build(folder: Path) -> Path:
        problems = json.loads((DATA / "code_contests" / "rllm_code_contests_165.json").read_text())
        return written(
            folder / "train.jsonl",
            [
                {"id": number, "question": problem["problem"], "input_output": json.dumps(problem["tests"]), **columns}
                for number, problem in enumerate(problems)
            ],
        )

    return build


def mbpp(folder: Path) -> Path:
    """The problems of MBPP that map integers to an integer, with its asserts as tests."""
    problems = []
    for record in lines(DATA / "mbpp" / "mbpp.jsonl"):
        found = [INTEGERS.fullmatch(test.strip()) for test in record["test_list"]]
        tests = [{"input": f"{case[1].replace(',', ' ')}\n", "output": case[2]} for case in found if case]
        if len(tests) == len(found):
            columns = {"input_format": "Integers on one line.", "output_format": "An integer."}
            problems.append(
                {"original_task_id": record["task_id"], "description": record["text"], "tests": tests, **columns}
            )
    return written(folder / "train.jsonl", problems)


def table(folder: Path) -> Path:
    path = folder / "codenet.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("id", "statement", "input", "output"))
        for problem in lines(DATA / "codenet" / "codenet_samples.jsonl"):
            writer.writerows((problem["id"], problem["name"], t["input"], t["output"]) for t in problem["tests"])
    return path


def lying(*parts: str) -> Build:
    return lambda _: DATA.joinpath(*parts)


SHUFFLED = """
local n, m = io.read("*l"), io.read("*l")
local digits = {}
for digit in n:gmatch("%d") do digits[#digits + 1] = digit end
table.sort(digits)
local first = 1
while first < #digits and digits[first] == "0" do first = first + 1 end
digits[1], digits[first] = digits[first], digits[1]
local best = table.concat(digits)
"""
ABC = """
for _ = 1, io.read("*n", "*l") do
  local s, wrong = io.read("*l"), 0
  for i = 1, 3 do if s:sub(i, i) ~= ("abc"):sub(i, i) then wrong = wrong + 1 end end
  print(%s and "YES" or "NO")
end
"""
POWERS = """
local function root(n, power)
  local r = math.floor(n ^ (1 / power) + 0.5)
  while r ^ power > n do r = r - 1 end
  while (r + 1) ^ power <= n do r = r + 1 end
  return r
end
for _ = 1, io.read("*n") do
  local n = io.read("*n")
  print(root(n, 2) + root(n, 3)%s)
end
"""
SQUARE = """
for _ = 1, io.read("*n", "*l") do
  local s = io.read("*l"):match("%%a+")
  print(#s %% 2 == 0 and %s and "YES" or "NO")
end
"""
HILLS = """
local t = {}
for n in io.read("*a"):gmatch("%d+") do t[#t + 1] = tonumber(n) end
"""
DIGITS = """
for line in io.lines() do
  local a, b = line:match("(%%d+) (%%d+)")
  print(#tostring(%s))
end
"""
CASES: dict[str, tuple[str, Build, int, int, str, str, str]] = {
    "ag-livecodebench-x": (
        "test",
        lambda _: LIVE_CODE_BENCH,
        2,
        20,
        "ag-livecodebench-x/1",
        ABC % "wrong <= 2",
        ABC % "wrong < 2",
    ),
    "code-contests": (
        "train",
        code_contests,
        16,
        1599,
        "code-contests/codeforces/12_B. Correct Solution?",
        SHUFFLED + 'print(best == m:match("%d+") and "OK" or "WRONG_ANSWER")',
        SHUFFLED + 'print(tonumber(best) == tonumber(m) and "OK" or "WRONG_ANSWER")',
    ),
    "ag-codeforces-x": (
        "train",
        codeforces,
        16,
        48,
        "ag-codeforces-x/12/B",
        SHUFFLED + 'print(best == m:match("%d+") and "OK" or "WRONG_ANSWER")',
        SHUFFLED + 'print(tonumber(best) == tonumber(m) and "OK" or "WRONG_ANSWER")',
    ),
    "apps": ("train", in_columns(), 127, 1547, "apps/train/140", POWERS % " - root(n, 6)", POWERS % ""),
    "taco": (
        "train",
        in_columns(time_limit="2.0 seconds", memory_limit="256.0 megabytes"),
        127,
        1547,
        "taco/train/139",
        SQUARE % "s:sub(1, #s / 2) == s:sub(#s / 2 + 1)",
        SQUARE % "true",
    ),
    "ag-mbpp-x": (
        "test",
        mbpp,
        113,
        339,
        "ag-mbpp-x/24",
        'print(tonumber(io.read("*l"), 2))',
        'print(tonumber(io.read("*l")))',
    ),
    "codenet": (
        "train",
        lying("codenet", "problem_descriptions.tar.gz"),
        3815,
        8801,
        "codenet/p00001",
        HILLS + "table.sort(t) print(t[10], t[9], t[8])",
        HILLS + "print(t[1], t[2], t[3])",
    ),
    "csv": ("train", table, 3389, 7851, "p00002", DIGITS % "a + b", DIGITS % "a"),
    "esolang-bench": (
        "test",
        lying("esolang_bench", "esolang_benchmark.json"),
        80,
        480,
        "E02",
        'io.write(io.read("*a"))',
        'io.write((io.read("*a"):gsub(" ", "")))',
    ),
}
"""Split, records, how many tasks and tests they become, the id of one, a right program for it, and a wrong one."""


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Verifier]:
    with Verifier("bubblewrap", 1) as made:
        yield made


@pytest.mark.parametrize("name", CASES)
def test_real_records_become_tasks_that_tell_right_from_wrong(
    name: str, sandbox: Verifier, languages: dict[str, Language], tmp_path: Path
) -> None:
    split, build, count, tests, example, right, wrong = CASES[name]
    found: dict[str, Task] = {}
    for task in load_plugins().dataset(name)[0].tasks(split, source=str(build(tmp_path))):
        found[task.id] = task
    assert (len(found), sum(len(task.tests) for task in found.values())) == (count, tests)
    assert found[example].statement
    assert sandbox.verify(languages["lua"], right, found[example]).verdict == "accepted"
    assert sandbox.verify(languages["lua"], wrong, found[example]).verdict == "wrong_answer"
