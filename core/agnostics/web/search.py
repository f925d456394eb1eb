"""Search: programs and tasks by their text, runs by name."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from agnostics.web.page import choice, number, page, reading, text
from agnostics.web.queries import search as stored

SIZE = 20
WHERE = ("programs", "tasks", "runs")


def search(request: Request) -> Response:
    """What holds the text that is looked for; a further page goes on where this one had to stop."""
    wanted, where = text(request, "q"), choice(request, "in", WHERE, "programs")
    below = number(request.query_params.get("below"), "below")
    found: stored.Found[Any] = stored.Found([], None)
    with reading(request) as connection:
        if wanted and where == "programs":
            found = stored.find_programs(connection, wanted, SIZE, below)
        elif wanted and where == "tasks":
            found = stored.find_tasks(connection, wanted, SIZE, below)
        elif wanted:
            found = stored.Found(stored.find_runs(connection, wanted, SIZE), None)
    further = None if found.rest is None else str(request.url.include_query_params(below=found.rest).query)
    return page(request, "search.html", wanted=wanted, where=where, choices=WHERE, found=found, further=further)
