"""`agn datasets reformulate` against a server that answers well, badly and maliciously, and in a real sandbox."""

from __future__ import annotations

import ast
import json
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from agnostics import cli
from agnostics.plugins.manager import load_plugins
from agnostics.task_prep.loaders import load_problems
from agnostics.task_prep.problem import FunctionProblem
from agnostics.task_prep.reference_runner import formatted

DATA = Path(__file__).parents[3] / "shared" / "data"
AGN = [sys.executable, "-c", "from agnostics.cli import main; main()"]
STATEMENT = {"description": "Compute it.", "input_format": "The arguments.", "output_format": "The result."}
Tests = list[dict[str, str]]
StartServer = Callable[[Callable[[str], str]], Any]


def _mbpp(number: int, code: str, *cases: str) -> dict[str, Any]:
    return {"task_id": number, "text": f"Problem number {number}.", "code": code, "test_list": [*cases]}


def _said(*tests: tuple[str, str], **fields: Any) -> str:
    found = [{"input": given, "output": expected} for given, expected in tests]
    return f"```json\n{json.dumps({**STATEMENT, 'tests': found, **fields})}\n```"


SORT = _mbpp(1, "def order(a, n):\n    return sorted(a)[:n]", "assert order([3, 1, 2], 2) == [1, 2]")
MEAN = _mbpp(2, "def mean(a):\n    return sum(a) / len(a)", "assert mean([1, 1, 2]) > 1", "assert mean([4]) == 4")
EVEN = _mbpp(
    3, "def even(n):\n    print(7)\n    return n == 0 or not even(n - 1)", "assert even(4)", "assert not even(3)"
)


class Reformulate:
    """Runs the command on a file of problems, against a server that answers each by its number."""

    def __init__(self, start: StartServer, capsys: pytest.CaptureFixture[str]) -> None:
        self.answers, self._capsys = dict[int, str](), capsys
        self.server = start(lambda question: self.answers[_number(question)])

    def __call__(self, problems: list[dict[str, Any]], *options: str) -> tuple[int, Any, str]:
        """The exit status, what was told as JSON, and what was said."""
        Path("mbpp.jsonl").write_text("".join(f"{json.dumps(problem)}\n" for problem in problems))
        self._capsys.readouterr()
        status = cli.call([*self.command, *options])
        told, said = self._capsys.readouterr()
        return status, json.loads(told) if told else None, said

    @property
    def command(self) -> list[str]:
        fixed = ("--model", "wise", "--endpoint", self.server.url, "--sandbox", "bubblewrap", "--force", "--json")
        return ["datasets", "reformulate", "mbpp.jsonl", *fixed, "-o", "tasks.jsonl"]

    @property
    def rejected(self) -> dict[str, tuple[str, str]]:
        """The check that each problem failed, and the reason."""
        return {line["id"]: (line["check"], line["reason"]) for line in _lines("tasks.rejected.jsonl")}


def _number(question: str) -> int:
    return int(question.partition("Problem number ")[2].partition(".")[0])


def _lines(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path(name).read_text().splitlines()]


@pytest.fixture
def reformulate(
    chat_server: StartServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Reformulate:
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return Reformulate(chat_server, capsys)


def test_good_answers_become_tasks_that_a_run_can_take(reformulate: Reformulate) -> None:
    reformulate.answers = {
        1: _said(("3 2\n3 1 2", "1 2")),
        2: _said(("3\n1 1 2", "1.3333"), ("1\n4", "4.0000")),
        3: _said(("4", "YES"), ("3", "NO")),
    }
    status, told, said = reformulate([SORT, MEAN, EVEN])
    assert (status, told["kept"], told["rejected"]) == (0, 3, {}), reformulate.rejected
    assert (told["requests"], told["prompt_tokens"], told["completion_tokens"]) == (3, 300, 30)
    assert said.splitlines()[-1] == "cost: 3 requests, 300 prompt tokens, 30 completion tokens"
    dataset, source = load_plugins().dataset("tasks.jsonl")
    tasks = list(dataset.tasks("train", source=source))
    assert [(task.id, len(task.tests), task.compare.mode) for task in tasks] == [
        *(("mbpp/1", 1, "tokens"), ("mbpp/2", 2, "floats"), ("mbpp/3", 2, "tokens")),
    ]
    assert tasks[0].statement == "Compute it.\n\nInput format: The arguments.\n\nOutput format: The result."


REJECTED = {
    "wrong output": (SORT, _said(("3 1 2\n2", "1 3")), "the output of test 1 is '3', that of the reference '2'"),
    "more output": (SORT, _said(("3 1 2\n2", "1 2 3")), "the output of test 1 is '3', that of the reference ''"),
    "other input": (SORT, _said(("3 1 4\n2", "1 3")), "the input of test 1 matches the arguments of no test case"),
    "lists as Python": (SORT, _said(("[3, 1, 2]\n2", "1 2")), "the input of test 1 matches the arguments of no"),
    "a case left out": (EVEN, _said(("4", "True")), "the inputs leave out a test case"),
    "decimals not asked for": (MEAN, _said(("1 1 2", "1.3333"), ("4", "4")), "is '4', that of the reference '4.0000'"),
    "code in an input": (
        EVEN,
        _said(("4'), 'x'); import os; print('True'); os._exit(0) #", "True"), ('3"""\nprint("False")', "False")),
        "the input of test 1 matches the arguments of no test case",
    ),
    "a wrong reference": (
        _mbpp(4, "def two():\n    return 1", "assert two() == 2"),
        _said(("", "1")),
        "the reference solution fails its own test cases",
    ),
    "no such function": (
        _mbpp(5, "def two():\n    return 1\ndel two", "assert two() == 2"),
        _said(("", "2")),
        "the reference solution defines no function 'two'",
    ),
    "a reference that crashes": (
        _mbpp(6, "import ctypes\ndef two():\n    ctypes.string_at(0)", "assert two() == 2"),
        _said(("", "2")),
        "exit status",
    ),
    "a reference that answers and leaves": (
        _mbpp(7, "import os\ndef two():\n    os.write(1, b'2')\n    os._exit(1)", "assert two() == 2"),
        _said(("", "2")),
        "exit status 1",
    ),
}


def test_drafts_that_fail_the_reference_are_rejected_with_the_reason(reformulate: Reformulate) -> None:
    problems = [{**problem, "task_id": n, "text": f"Problem number {n}."} for n, (problem, *_) in enumerate(_cases())]
    reformulate.answers = {number: answer for number, (_, answer, _) in enumerate(_cases())}
    status, told, said = reformulate(problems)
    assert (status, told["kept"], told["rejected"]) == (1, 0, {"reference_passes": len(REJECTED)})
    assert "no completion of 'wise' could be used; tasks.rejected.jsonl says why" in said
    for number, (name, (_, answer, reason)) in enumerate(REJECTED.items()):
        assert reason in reformulate.rejected[f"mbpp/{number}"][1], name
        assert _lines("tasks.rejected.jsonl")[number]["completion"] == answer
    assert all(line["reason"].isprintable() for line in _lines("tasks.rejected.jsonl"))
    assert Path("tasks.jsonl").read_text() == ""


def _cases() -> list[tuple[dict[str, Any], str, str]]:
    return list(REJECTED.values())


def test_a_second_run_costs_nothing_and_a_killed_one_goes_on(reformulate: Reformulate) -> None:
    problems = [_mbpp(n, f"def f(n):\n    return n + {n}", f"assert f(1) == {1 + n}") for n in range(8)]
    reformulate.answers = {number: _said(("1", str(1 + number))) for number in range(8)}
    answer, stuck = reformulate.server.reply, threading.Event()

    def stop_at_five(question: str) -> str:
        if _number(question) == 5:
            stuck.set()
            threading.Event().wait(60)
        return str(answer(question))

    reformulate.server.reply = stop_at_five
    Path("mbpp.jsonl").write_text("".join(f"{json.dumps(problem)}\n" for problem in problems))
    killed = subprocess.Popen([*AGN, *reformulate.command, "--concurrency", "1"], stderr=subprocess.DEVNULL)
    assert stuck.wait(60)
    killed.send_signal(signal.SIGKILL)
    assert killed.wait(60) == -signal.SIGKILL
    assert not Path("tasks.jsonl").exists()
    reformulate.server.reply = answer
    status, told, said = reformulate(problems)
    assert (status, told["kept"], told["requests"]) == (0, 8, 3)
    assert "; 5 from the cache" in said
    written = Path("tasks.jsonl").read_bytes()
    status, told, _ = reformulate(problems)
    assert (status, told["kept"], told["requests"], told["prompt_tokens"]) == (0, 8, 0, 0)
    assert Path("tasks.jsonl").read_bytes() == written


def test_an_interrupt_waits_for_no_server(reformulate: Reformulate) -> None:
    stuck = threading.Event()

    def never(_: str) -> str:
        stuck.set()
        threading.Event().wait(60)
        return ""

    reformulate.server.reply = never
    Path("mbpp.jsonl").write_text(f"{json.dumps(SORT)}\n{json.dumps(MEAN)}\n")
    process = subprocess.Popen([*AGN, *reformulate.command], stderr=subprocess.PIPE, text=True)
    assert stuck.wait(60)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=20)
    assert (process.returncode, said.splitlines()[-1]) == (130, "agn: interrupted")
    assert [path.name for path in Path().iterdir()] == ["mbpp.jsonl"]


def test_no_more_requests_run_at_once_than_allowed(reformulate: Reformulate) -> None:
    problems = [_mbpp(n, f"def f(n):\n    return n + {n}", f"assert f(1) == {1 + n}") for n in range(9)]
    reformulate.answers = dict.fromkeys(range(9), "")
    answer, three = reformulate.server.reply, threading.Barrier(3, timeout=30)

    def wait_for_three(question: str) -> str:
        three.wait()
        return str(answer(question))

    reformulate.server.reply = wait_for_three
    assert reformulate(problems, "--concurrency", "3")[1]["rejected"] == {"json": 9}
    assert reformulate.server.together == 3


def test_a_refused_request_does_not_stop_the_others(reformulate: Reformulate) -> None:
    reformulate.answers = {1: _said(("3 1 2\n2", "1 2"))}
    status, told, _ = reformulate([MEAN, SORT])
    assert (status, told["kept"], told["rejected"]) == (0, 1, {"request_accepted": 1})
    check, reason = reformulate.rejected["mbpp/2"]
    assert (check, "refused with 400" in reason) == ("request_accepted", True)
    reformulate.answers[2] = _said(("1 1 2", "1.3333"), ("4", "4.0000"))
    assert reformulate([SORT, MEAN])[1]["requests"] == 1


def test_a_server_that_requires_another_key_ends_the_command_in_one_line_and_completions_stay_cached(
    reformulate: Reformulate,
) -> None:
    reformulate.answers = {1: _said(("3 1 2\n2", "1 2")), 2: _said(("1 1 2", "1.3333"), ("4", "4.0000"))}
    answer = reformulate.server.answer
    reformulate.server.answer = lambda asked: (401, b"{}") if "number 2" in asked else answer(asked)
    status, told, said = reformulate([SORT, MEAN], "--concurrency", "1")
    assert (status, told) == (2, None)
    assert "refused with 401" in said.splitlines()[-1]
    assert "Traceback" not in said
    assert not Path("tasks.jsonl").exists()
    reformulate.server.answer = answer
    assert reformulate([SORT, MEAN])[1]["requests"] == 1


def test_a_file_in_another_format_is_rejected_before_any_request(reformulate: Reformulate) -> None:
    status, _, said = reformulate([{"id": "a", "statement": "Add."}])
    assert (status, reformulate.server.asked) == (2, [])
    assert "mbpp.jsonl: not a file of MBPP, HumanEval or Exercism problems" in said


def test_exercisms_cases_are_their_own_reference(reformulate: Reformulate) -> None:
    case = {"exercise": "sums", "property": "add", "input": {"a": [1, 2], "b": 3}, "expected": {"sum": 6}}
    reformulate.server.reply = lambda _: _said(("2\n1 2\n3", "sum 6"))
    assert reformulate([case])[1]["kept"] == 1
    reformulate.server.reply = lambda _: _said(("1 2\n3", "sum 7"))
    assert reformulate([{**case, "description": "asked anew"}])[1]["rejected"] == {"reference_passes": 1}


# MBPP itself, with answers made of its asserts

SPELLING = ("True", "False", False)


def _literal_tests(problem: FunctionProblem) -> Tests | None:
    """The asserts of the form f(literals) == literal as tests, an argument to a line; None where one is of another."""
    try:
        equals = [node.test for node in ast.parse(problem.cases).body if isinstance(node, ast.Assert)]
        return [
            {
                "input": "\n".join(formatted(ast.literal_eval(one), SPELLING) for one in test.left.args),  # type: ignore
                "output": formatted(ast.literal_eval(test.comparators[0]), SPELLING),  # type: ignore
            }
            for test in equals
        ]
    except (AttributeError, ValueError):
        return None


def _spoilt(tests: Tests, how: int) -> Tests:
    """`tests` with one fault: a case left out, an output changed, Python's brackets, or a number added to an input."""
    first, *rest = tests
    faults = (
        rest,
        [{**first, "output": f"{first['output']} 1"}, *rest],
        [{**first, "input": f"[{first['input']}]"}, *rest],
        [{**first, "input": f"{first['input']}\n-77"}, *rest],
    )
    return faults[how]


@pytest.mark.skipif(not (DATA / "mbpp").is_dir(), reason="MBPP is not beside this checkout (../shared/data)")
def test_mbpps_sanitized_problems_pass_if_and_only_if_their_answers_are_right(
    chat_server: StartServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    source = DATA / "mbpp" / "sanitized-mbpp.427.json"
    problems = load_problems(source) or []
    answers, right, spoilt = dict[str, str](), set[str](), set[str]()
    for place, problem in enumerate(problems):
        tests = _literal_tests(problem)
        if tests is None:
            answers[problem.cases] = "I cannot translate these test cases."
            continue
        bad = place % 3 == 2
        (spoilt if bad else right).add(problem.id)
        found = _spoilt(tests, place // 3 % 4) if bad else tests
        answers[problem.cases] = json.dumps({**STATEMENT, "tests": found})

    server = chat_server(lambda asked: answers[asked.partition("test cases:\n")[2].partition("\nYou should return")[0]])
    options = ["--model", "recorded", "--endpoint", server.url, "--sandbox", "bubblewrap", "--json"]
    assert cli.call(["datasets", "reformulate", str(source), *options, "-o", "tasks.jsonl"]) == 0
    told = json.loads(capsys.readouterr().out)
    kept = {line["id"] for line in _lines("tasks.jsonl")}
    rejected = {line["id"]: line["reason"] for line in _lines("tasks.rejected.jsonl")}
    assert (len(problems), len(right), len(spoilt), told["requests"]) == (427, 266, 136, 427)
    assert told["rejected"] == {"json": 25, "reference_passes": 139, "has_consistent_tests": 1}
    assert kept & spoilt == set()
    assert {id_: rejected[id_] for id_ in right - kept} == {  # asserts that Python's == forgives, and a task would not
        "mbpp/88": "the output of test 3 is '10', that of the reference '5'",  # a mapping in another order
        "mbpp/293": "the output of test 2 is '5', that of the reference '5.0000'",
        "mbpp/422": "the output of test 2 is '12', that of the reference '12.0000'",
        "mbpp/432": "the output of test 1 is '20', that of the reference '20.0000'",
    }
