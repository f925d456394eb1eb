"""The pages of a run's tasks and of one task, with the programs written for it side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from agnostics.types.rollout import PHASES
from agnostics.web.page import choice, download, not_found, number, paginate, path_number, reading, render, text
from agnostics.web.queries import tasks as queries
from agnostics.web.queries.runs import VERDICTS
from agnostics.web.runs import run_or_404

SIZE = 50
COMPLETIONS = 12
TESTS = 20
TOOLS = ("failed",)
ORDERS = {"hardest": "hardest first", "easiest": "easiest first", "most": "most attempts first"}


def of_run(request: Request) -> Response:
    """The tasks of a run in one phase."""
    order: Any = choice(request, "order", ORDERS, "hardest")
    after = _key(text(request, "after"))
    with reading(request) as connection:
        line = run_or_404(connection, request)
        known = queries.phases(connection, line.run)
        phase = choice(request, "phase", PHASES) or next(iter(known), "train")
        found = queries.tasks_page(connection, line.run, phase, order, SIZE + 1, after)

    def key(one: queries.TaskSummary) -> str:
        return f"{one.programs if order == 'most' else one.rate!r},{one.task_id}"

    rows = paginate(request, found, SIZE, "after", key)
    return render(request, "tasks.html", line=line, page=rows, phase=phase, phases=known, order=order, orders=ORDERS)


def task(request: Request) -> Response:
    """One task with the programs written for it, by all runs or by one."""
    filters = {"run": text(request, "run"), "phase": choice(request, "phase", PHASES)}
    filters |= {"verdict": choice(request, "verdict", VERDICTS), "tools": choice(request, "tools", TOOLS)}
    before = number(request.query_params.get("before"), "before")
    with reading(request) as connection:
        one = _task_or_404(connection, request)
        found = queries.completions_page(connection, one.task_id, COMPLETIONS + 1, **filters, before=before)
        task_runs = queries.task_runs(connection, one.task_id)
    rows = paginate(request, found, COMPLETIONS, "before", lambda completion: completion.completion_id)
    of_task = list(dict.fromkeys(t.run for t in task_runs))
    choices = {"run": of_task, "phase": PHASES, "verdict": VERDICTS, "tools": TOOLS}
    tests: Sequence[Mapping[str, str]] = one.definition.get("tests", [])
    return render(
        request,
        "task.html",
        task=one,
        tests=tests[:TESTS],
        tests_left=max(0, len(tests) - TESTS),
        task_runs=task_runs,
        page=rows,
        filters=filters,
        choices=choices,
    )


def full_text(request: Request) -> Response:
    """A whole text of a task, as a download."""
    with reading(request) as connection:
        one = _task_or_404(connection, request)
    if request.path_params["text"] != "statement":
        raise not_found("text")
    return download(one.statement, f"task-{one.task_id}-statement.txt")


def full_test_text(request: Request) -> Response:
    """A whole text of one of a task's tests, as a download."""
    with reading(request) as connection:
        one = _task_or_404(connection, request)
    name, number_ = request.path_params["text"], path_number(request, "test")
    test = test_of(one.definition, number_)
    if name not in {"input", "output"} or test is None:
        raise not_found("text")
    return download(test[name], f"task-{one.task_id}-test-{number_}-{name}.txt")


def test_of(definition: Mapping[str, Any], test: int) -> Mapping[str, str] | None:
    """The test with this number, counted from 1; None if there is none."""
    tests: Sequence[Mapping[str, str]] = definition.get("tests", [])
    return tests[test - 1] if 1 <= test <= len(tests) else None


def _task_or_404(connection: Connection, request: Request) -> queries.TaskDetail:
    one = queries.task_detail(connection, path_number(request, "task"))
    if one is None:
        raise not_found("task")
    return one


def _key(given: str) -> tuple[float, int] | None:
    """The key of the last row of the previous page."""
    if not given:
        return None
    value, _, task_id = given.partition(",")
    try:
        return float(value), number(task_id, "after") or 0
    except ValueError as error:
        raise HTTPException(400, "after must be two numbers with a comma between them.") from error
