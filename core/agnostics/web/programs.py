"""The pages of a run's programs, and of one program with its conversation and its tests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection
from starlette.requests import Request
from starlette.responses import Response

from agnostics.store.filters import VerificationFilter
from agnostics.store.views import TestRow
from agnostics.types.rollout import PHASES
from agnostics.web.conversation import conversation
from agnostics.web.difference import difference_spans
from agnostics.web.escaping import Excerpt, excerpt
from agnostics.web.page import choice, download, not_found, number, paginate, path_number, reading, render
from agnostics.web.queries import programs as queries
from agnostics.web.queries.episodes import episodes_page
from agnostics.web.queries.runs import VERDICTS
from agnostics.web.runs import run_or_404
from agnostics.web.tasks import TOOLS, test_of

SIZE = 50
TESTS = 20
MOST_OUTPUT = 6_000


@dataclass(frozen=True, slots=True)
class TestView:
    """A test with its result, in excerpts for the page."""

    __test__ = False  # not a pytest class

    result: TestRow
    input: Excerpt
    expected: Excerpt
    actual: Excerpt
    errors: Excerpt


def of_run(request: Request) -> Response:
    """The programs of a run as episodes, newest first."""
    phase, verdict = choice(request, "phase", PHASES), choice(request, "verdict", VERDICTS)
    tools = choice(request, "tools", TOOLS)
    before = number(request.query_params.get("before"), "before")
    with reading(request) as connection:
        line = run_or_404(connection, request)
        verdicts = (verdict,) if verdict else ()
        where = VerificationFilter(line.run, phase or None, verdicts=verdicts, failed_tools=tools == "failed")
        found = episodes_page(connection, where, SIZE + 1, before)
    rows = paginate(request, found, SIZE, "before", lambda one: one.completion_id)
    filters = {"phase": phase, "verdict": verdict, "tools": tools}
    choices = {"phase": PHASES, "verdict": VERDICTS, "tools": TOOLS}
    return render(request, "programs.html", line=line, page=rows, filters=filters, choices=choices)


def program(request: Request) -> Response:
    """One program with its tests, or the conversation that led to it."""
    first = number(request.query_params.get("test"), "test") or 1
    with reading(request) as connection:
        one = _completion_or_404(connection, request)
        results = queries.results_page(connection, one.completion_id, TESTS + 1, first)
        group = queries.group_of(connection, one)
        talk = conversation(request, connection, one.completion_id)
        copies = 0 if one.program_id is None else queries.count_copies(connection, one.program_id)
    tests = [_test(one.definition, result) for result in results]
    rows = paginate(request, tests, TESTS, "test", lambda test: test.result.number + 1)
    ids = [member.completion_id for member in group]
    return render(
        request,
        "program.html",
        one=one,
        page=rows,
        talk=talk,
        group=group,
        previous=max((id_ for id_ in ids if id_ < one.completion_id), default=None),
        next=min((id_ for id_ in ids if id_ > one.completion_id), default=None),
        copies=copies,
        most_copies=queries.MOST_COPIES,
    )


def full_text(request: Request) -> Response:
    """A whole text of a completion, as a download."""
    with reading(request) as connection:
        one = _completion_or_404(connection, request)
    texts = {"program": one.program, "completion": one.text, "compiler": one.compile_message, "error": one.error}
    text = texts.get(request.path_params["text"])
    if text is None:
        raise not_found("text")
    return download(text, f"program-{one.completion_id}-{request.path_params['text']}.txt")


def full_test_text(request: Request) -> Response:
    """A whole output of a program in a test, as a download."""
    test, name = path_number(request, "test"), request.path_params["text"]
    with reading(request) as connection:
        one = _completion_or_404(connection, request)
        results = queries.results_page(connection, one.completion_id, 1, test)
    result = results[0] if results and results[0].number == test else None
    texts = {"stdout": result.stdout, "stderr": result.stderr} if result else {}
    if name not in texts:
        raise not_found("text")
    return download(texts[name], f"program-{one.completion_id}-test-{test}-{name}.txt")


def _completion_or_404(connection: Connection, request: Request) -> queries.CompletionDetail:
    one = queries.completion_detail(connection, path_number(request, "program"))
    if one is None:
        raise not_found("program")
    return one


def _test(definition: Mapping[str, Any], result: TestRow) -> TestView:
    test = test_of(definition, result.number) or {"input": "", "output": ""}
    expected = actual = None
    if result.difference:
        mode = (definition.get("compare") or {}).get("mode", "tokens")
        expected, actual = difference_spans(test["output"], result.stdout, mode, result.difference["index"])
    return TestView(
        result=result,
        input=excerpt(test["input"], most=MOST_OUTPUT),
        expected=excerpt(test["output"], expected, MOST_OUTPUT),
        actual=excerpt(result.stdout, actual, MOST_OUTPUT),
        errors=excerpt(result.stderr, most=MOST_OUTPUT),
    )
