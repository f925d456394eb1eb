"""The list of runs; one run: how it goes, and its curves for the charts."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

from sqlalchemy import Connection
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from agnostics.store.queries.runs import RunSummary
from agnostics.web.page import choice, missing, page, reading, rows, text
from agnostics.web.queries import runs as stored
from agnostics.web.queries.steps import steps_page

SIZE = 25
LAST_STEPS = 8
STATUSES = ("running", "finished", "interrupted", "failed")


def index(request: Request) -> Response:
    """The list of runs, newest first."""
    wanted = {name: text(request, name) for name in ("language", "model")}
    wanted["status"] = choice(request, "status", STATUSES)
    with reading(request) as connection:
        languages, models = stored.run_names(connection)
        found = stored.runs_page(connection, SIZE + 1, **wanted, before=text(request, "before"))
    listed = rows(request, found, SIZE, "before", lambda line: line.run)
    choices = {"language": languages, "model": models, "status": STATUSES}
    return page(request, "runs.html", listed=listed, choices=choices, wanted=wanted)


def run(request: Request) -> Response:
    """One run."""
    with reading(request) as connection:
        line = run_or_404(connection, request)
        settings = stored.run_settings(connection, line.run)
        values = _progress(connection, line)
    return page(request, "run.html", settings=list(_flat(settings)), **values)


def progress(request: Request) -> Response:
    """The part of a run's page that changes while the run goes on."""
    with reading(request) as connection:
        values = _progress(connection, run_or_404(connection, request))
    return page(request, "_progress.html", **values)


def curves(request: Request) -> Response:
    """What the charts of a run draw; nothing where `seen` is the last news of it."""
    with reading(request) as connection:
        line = stored.known_run(connection, text_of_run(request))
        if line is None:
            raise missing("run")
        news = stored.progress(connection, line)
        if text(request, "seen") == news:
            return Response(status_code=204)
        points = stored.points(connection, line)
    return JSONResponse({"seen": news, "live": news.startswith("running."), **asdict(points)})


def run_or_404(connection: Connection, request: Request) -> RunSummary:
    """The run that the address names."""
    line = stored.find_run(connection, text_of_run(request))
    if line is None:
        raise missing("run")
    return line


def text_of_run(request: Request) -> str:
    """The id in the path of the address."""
    return str(request.path_params["run"])


def _progress(connection: Connection, line: RunSummary) -> dict[str, Any]:
    held_out = stored.held_out(connection, line.run)
    last = steps_page(connection, line.run, LAST_STEPS)
    counts = stored.verdicts(connection, line.run)
    occurred = [verdict for verdict in stored.VERDICTS if any(found[verdict] for found in counts.values())]
    return {"line": line, "held_out": held_out, "steps": last, "verdicts": counts, "occurred": occurred}


def _flat(settings: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    """The settings by name, those in tables with the table's name before theirs."""
    for name, value in settings.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{name}.")
        elif value is not None:
            yield prefix + name, value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
