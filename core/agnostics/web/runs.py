"""The pages of the list of runs and of one run, and the curves of its charts."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

from sqlalchemy import Connection
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from agnostics.store.queries.runs import RunSummary
from agnostics.web.page import choice, not_found, paginate, reading, render, text
from agnostics.web.queries import runs as queries
from agnostics.web.queries.steps import steps_page

SIZE = 25
LAST_STEPS = 8
STATUSES = ("running", "finished", "interrupted", "failed")


def index(request: Request) -> Response:
    """The list of runs, newest first."""
    filters = {name: text(request, name) for name in ("language", "model")}
    filters["status"] = choice(request, "status", STATUSES)
    with reading(request) as connection:
        languages, models = queries.run_names(connection)
        found = queries.runs_page(connection, SIZE + 1, **filters, before=text(request, "before"))
    rows = paginate(request, found, SIZE, "before", lambda line: line.run)
    choices = {"language": languages, "model": models, "status": STATUSES}
    return render(request, "runs.html", page=rows, choices=choices, filters=filters)


def run(request: Request) -> Response:
    """One run."""
    with reading(request) as connection:
        line = run_or_404(connection, request)
        settings = queries.run_settings(connection, line.run)
        values = _progress(connection, line)
    return render(request, "run.html", settings=list(_flat(settings)), **values)


def progress(request: Request) -> Response:
    """The part of a run's page that changes while the run is in progress."""
    with reading(request) as connection:
        values = _progress(connection, run_or_404(connection, request))
    return render(request, "_progress.html", **values)


def curves(request: Request) -> Response:
    """The data of a run's charts as JSON; 204 if `seen` is its current state."""
    with reading(request) as connection:
        run_id = queries.run_id_or_none(connection, path_run(request))
        if run_id is None:
            raise not_found("run")
        state = queries.progress(connection, run_id)
        if text(request, "seen") == state:
            return Response(status_code=204)
        data = queries.curves(connection, run_id)
    return JSONResponse({"seen": state, "live": state.startswith("running."), **asdict(data)})


def run_or_404(connection: Connection, request: Request) -> RunSummary:
    """The run of the URL; raises 404 if there is none."""
    line = queries.find_run(connection, path_run(request))
    if line is None:
        raise not_found("run")
    return line


def path_run(request: Request) -> str:
    """The id of the run in the path of the URL."""
    return str(request.path_params["run"])


def _progress(connection: Connection, line: RunSummary) -> dict[str, Any]:
    held_out = queries.held_out(connection, line.run)
    last = steps_page(connection, line.run, LAST_STEPS)
    counts = queries.verdicts(connection, line.run)
    occurred = [verdict for verdict in queries.VERDICTS if any(of_phase[verdict] for of_phase in counts.values())]
    return {"line": line, "held_out": held_out, "steps": last, "verdicts": counts, "occurred": occurred}


def _flat(settings: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    """The settings by dotted name."""
    for name, value in settings.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{name}.")
        elif value is not None:
            yield prefix + name, value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
