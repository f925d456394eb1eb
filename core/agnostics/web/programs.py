"""One program: what came of it test by test, with the place where its output went wrong."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection
from starlette.requests import Request
from starlette.responses import Response

from agnostics.store.views import TestRow
from agnostics.web.difference import places
from agnostics.web.escaping import Piece, piece
from agnostics.web.page import missing, number, page, path_number, raw, reading, rows
from agnostics.web.queries import programs as stored
from agnostics.web.tasks import test_of

TESTS = 20
MOST_OUTPUT = 6_000


@dataclass(frozen=True, slots=True)
class Test:
    """A test as the page shows it."""

    __test__ = False  # not a pytest class

    run: TestRow
    input: Piece
    expected: Piece
    actual: Piece
    errors: Piece


def program(request: Request) -> Response:
    """One program with its tests."""
    first = number(request.query_params.get("test"), "test") or 1
    with reading(request) as connection:
        one = _judged_or_404(connection, request)
        results = stored.results_page(connection, one.completion_id, TESTS + 1, first)
        group = stored.group_of(connection, one)
        copies = 0 if one.program_id is None else stored.copies(connection, one.program_id)
    tests = [_test(one.definition, result) for result in results]
    listed = rows(request, tests, TESTS, "test", lambda test: test.run.number + 1)
    ids = [member.completion_id for member in group]
    return page(
        request,
        "program.html",
        one=one,
        listed=listed,
        group=group,
        before=max((id_ for id_ in ids if id_ < one.completion_id), default=None),
        after=min((id_ for id_ in ids if id_ > one.completion_id), default=None),
        copies=copies,
        most_copies=stored.MOST_COPIES,
    )


def whole(request: Request) -> Response:
    """A text of a completion, all of it."""
    with reading(request) as connection:
        one = _judged_or_404(connection, request)
    texts = {"program": one.program, "answer": one.answer, "compiler": one.compile_message, "error": one.error}
    text = texts.get(request.path_params["what"])
    if text is None:
        raise missing("text")
    return raw(text, f"program-{one.completion_id}-{request.path_params['what']}.txt")


def whole_test(request: Request) -> Response:
    """What a program wrote in a test, all that is stored of it."""
    place, what = path_number(request, "test"), request.path_params["what"]
    with reading(request) as connection:
        one = _judged_or_404(connection, request)
        found = stored.results_page(connection, one.completion_id, 1, place)
    texts = {"stdout": found[0].stdout, "stderr": found[0].stderr} if found and found[0].number == place else {}
    if what not in texts:
        raise missing("text")
    return raw(texts[what], f"program-{one.completion_id}-test-{place}-{what}.txt")


def _judged_or_404(connection: Connection, request: Request) -> stored.Judged:
    one = stored.judged(connection, path_number(request, "program"))
    if one is None:
        raise missing("program")
    return one


def _test(definition: Mapping[str, Any], result: TestRow) -> Test:
    test = test_of(definition, result.number) or {"input": "", "output": ""}
    expected = actual = None
    if result.difference:
        mode = (definition.get("compare") or {}).get("mode", "tokens")
        expected, actual = places(test["output"], result.stdout, mode, result.difference["index"])
    return Test(
        run=result,
        input=piece(test["input"], most=MOST_OUTPUT),
        expected=piece(test["output"], expected, MOST_OUTPUT),
        actual=piece(result.stdout, actual, MOST_OUTPUT),
        errors=piece(result.stderr, most=MOST_OUTPUT),
    )
