"""The player `direct`: the program in each message of a model is submitted."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import pytest
import scripted_model
from command_line import Agn, Answer
from scripted_model import Body, ScriptedModel, serving

PROBLEMS = len(scripted_model.TASKS)
STATEMENTS = {task["statement"]: task["id"] for task in scripted_model.TASKS}


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The problems of the scripted model in the current folder, and a home of the test's own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    lines = map(json.loads, scripted_model.task_lines().splitlines())
    (tmp_path / "tasks.jsonl").write_text("".join(f"{json.dumps({**line, 'split': 'test'})}\n" for line in lines))


def played(agn: Agn, model: ScriptedModel, *options: str) -> Answer:
    player = ("--player", "direct", "--set", f"endpoint={model.url}", "--set", "model=small")
    data = ("--language", "brainfuck", "--dataset", "tasks.jsonl", "--sandbox", "bubblewrap", "--store", "results.db")
    return agn("session", "run", *player, *data, "--name", "one", "--json", *options)


def problems(agn: Agn) -> list[Any]:
    export: dict[str, Any] = agn("session", "export", "one", "--store", "results.db").json
    return list(export["problems"].values()) if isinstance(export["problems"], dict) else export["problems"]


def solution(body: Body) -> Body:
    """The right program; for the first problem at the second attempt."""
    statement, *rest = (one["content"] for one in body["messages"][1:])
    problem = STATEMENTS[statement]
    is_wrong = problem == "echo" and not rest
    return {
        "content": f"So:\n```brainfuck\n{scripted_model.WRONG if is_wrong else scripted_model.PROGRAMS[problem]}\n```"
    }


def test_every_message_is_a_submission_and_each_problem_a_conversation_of_its_own(agn: Agn) -> None:
    requests = list[Body]()

    def answer(body: Body) -> Body:
        requests.append(body)
        return solution(body)

    with serving(answer) as model:
        assert played(agn, model).json == {"session": "one", "solved": PROBLEMS, "problems": PROBLEMS, "complete": True}
    assert [len(problem["submissions"]) for problem in problems(agn)] == [2, 1, 1, 1]
    assert [len(request["messages"]) for request in requests] == [2, 4, 2, 2, 2]
    assert requests[1]["messages"][-1]["content"] == (
        "echo: 0 of 2 hidden tests passed.\nNot solved; 2 submissions left.\n\nWrite the whole program again."
    )
    assert not any("tools" in request for request in requests)


def test_the_model_is_told_the_rules_the_advice_and_the_language(agn: Agn) -> None:
    Path("own.yaml").write_text("submissions: 1\nfeedback: verdicts\nadvice: Count on your fingers.\n")
    requests = list[Body]()

    def answer(body: Body) -> Body:
        requests.append(body)
        return {"content": "No."}

    with serving(answer) as model:
        assert played(agn, model, "--protocol", "own.yaml", "--limit", "1").json["complete"]
    (system, user) = requests[0]["messages"]
    for part in ("1 submission a problem", "WRONG ANSWER", "Count on your fingers.", "one code block", "Brainfuck"):
        assert part in system["content"]
    assert user["content"] == scripted_model.TASKS[0]["statement"]


def test_a_message_without_a_program_is_an_empty_submission_so_that_every_session_is_complete(agn: Agn) -> None:
    with serving(lambda _: {"content": "I cannot."}) as model:
        assert played(agn, model).json == {"session": "one", "solved": 0, "problems": PROBLEMS, "complete": True}
        assert len(model.tokens) == 3 * PROBLEMS
    assert [len(problem["submissions"]) for problem in problems(agn)] == [3] * PROBLEMS


def test_a_conversation_that_is_too_long_begins_again_and_a_program_that_is_too_large_is_none(agn: Agn) -> None:
    large = f"```\n{'+' * (2 << 20)}\n```"

    def answer(body: Body) -> Body:
        if len(body["messages"]) > 2:
            raise ValueError("the maximum context length is 2 messages")
        return {"content": large}

    with serving(answer) as model:
        assert played(agn, model, "--limit", "1").json == {
            "session": "one",
            "solved": 0,
            "problems": 1,
            "complete": True,
        }
    assert [len(problem["submissions"]) for problem in problems(agn)] == [3]


def test_a_session_whose_endpoint_failed_goes_on_at_its_open_problem(agn: Agn) -> None:
    numbers = itertools.count()

    def answer(body: Body) -> Body:
        if next(numbers) == 1:
            raise ValueError("the model is not there")
        return solution(body)

    with serving(answer) as model:
        failed = played(agn, model)
        assert (failed.returncode, len(failed.complaint.splitlines())) == (2, 1)
        assert agn("session", "run", "--resume", "one", "--store", "results.db", "--json").json["solved"] == PROBLEMS
    assert [len(problem["submissions"]) for problem in problems(agn)] == [3, 1, 1, 1]
