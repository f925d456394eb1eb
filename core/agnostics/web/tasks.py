"""The tasks of a run; one task with the programs written for it side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from agnostics.types.rollout import PHASES
from agnostics.web.page import choice, missing, number, page, path_number, raw, reading, rows, text
from agnostics.web.queries import tasks as stored
from agnostics.web.queries.runs import VERDICTS
from agnostics.web.runs import run_or_404

SIZE = 50
ANSWERS = 12
TESTS = 20
ORDERS = {"hardest": "hardest first", "easiest": "easiest first", "most": "most tried first"}


def of_run(request: Request) -> Response:
    """The tasks of a run in one phase."""
    order: Any = choice(request, "order", ORDERS, "hardest")
    after = _key(text(request, "after"))
    with reading(request) as connection:
        line = run_or_404(connection, request)
        known = stored.phases(connection, line.run)
        phase = choice(request, "phase", PHASES) or next(iter(known), "train")
        found = stored.tasks_page(connection, line.run, phase, order, SIZE + 1, after)

    def key(one: stored.TaskLine) -> str:
        return f"{one.programs if order == 'most' else one.rate!r},{one.task_id}"

    listed = rows(request, found, SIZE, "after", key)
    return page(request, "tasks.html", line=line, listed=listed, phase=phase, phases=known, order=order, orders=ORDERS)


def task(request: Request) -> Response:
    """One task, with what was written for it: by every run, or by one."""
    wanted = {"run": text(request, "run"), "phase": choice(request, "phase", PHASES)}
    wanted["verdict"] = choice(request, "verdict", VERDICTS)
    before = number(request.query_params.get("before"), "before")
    with reading(request) as connection:
        one = _task_or_404(connection, request)
        found = stored.answers_page(connection, one.task_id, ANSWERS + 1, **wanted, before=before)
        tried = stored.tried(connection, one.task_id)
    listed = rows(request, found, ANSWERS, "before", lambda answer: answer.completion_id)
    choices = {"run": list(dict.fromkeys(t.run for t in tried)), "phase": PHASES, "verdict": VERDICTS}
    tests: Sequence[Mapping[str, str]] = one.definition.get("tests", [])
    return page(
        request,
        "task.html",
        task=one,
        tests=tests[:TESTS],
        tests_left=max(0, len(tests) - TESTS),
        tried=tried,
        listed=listed,
        wanted=wanted,
        choices=choices,
    )


def whole(request: Request) -> Response:
    """A text of a task, all of it."""
    with reading(request) as connection:
        one = _task_or_404(connection, request)
    if request.path_params["what"] != "statement":
        raise missing("text")
    return raw(one.statement, f"task-{one.task_id}-statement.txt")


def whole_test(request: Request) -> Response:
    """A text of one of a task's tests, all of it."""
    with reading(request) as connection:
        one = _task_or_404(connection, request)
    what, place = request.path_params["what"], path_number(request, "test")
    test = test_of(one.definition, place)
    if what not in {"input", "output"} or test is None:
        raise missing("text")
    return raw(test[what], f"task-{one.task_id}-test-{place}-{what}.txt")


def test_of(definition: Mapping[str, Any], place: int) -> Mapping[str, str] | None:
    """The test at `place`, counted from 1."""
    tests: Sequence[Mapping[str, str]] = definition.get("tests", [])
    return tests[place - 1] if 1 <= place <= len(tests) else None


def _task_or_404(connection: Connection, request: Request) -> stored.TaskText:
    one = stored.task_text(connection, path_number(request, "task"))
    if one is None:
        raise missing("task")
    return one


def _key(given: str) -> tuple[float, int] | None:
    """The last row of the page before, as the address names it."""
    if not given:
        return None
    value, _, task_id = given.partition(",")
    try:
        return float(value), number(task_id, "after") or 0
    except ValueError as error:
        raise HTTPException(400, "after is a number, a comma and a number.") from error
