"""The search page: programs and tasks by their text, runs by name."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from agnostics.web.page import choice, number, reading, render, text
from agnostics.web.queries import search as queries

SIZE = 20
SCOPES = ("programs", "tasks", "runs")


def search(request: Request) -> Response:
    """The matches of the query; the next page continues at the row where this search stopped."""
    query, scope = text(request, "q"), choice(request, "in", SCOPES, "programs")
    below = number(request.query_params.get("below"), "below")
    found: queries.SearchResult[Any] = queries.SearchResult([], None)
    with reading(request) as connection:
        if query and scope == "programs":
            found = queries.find_programs(connection, query, SIZE, below)
        elif query and scope == "tasks":
            found = queries.find_tasks(connection, query, SIZE, below)
        elif query:
            found = queries.SearchResult(queries.find_runs(connection, query, SIZE), None)
    next_ = None if found.rest is None else str(request.url.include_query_params(below=found.rest).query)
    return render(request, "search.html", query=query, scope=scope, scopes=SCOPES, found=found, next=next_)
