"""The pages of a run's steps and of one step: its timeline, metrics and groups."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response

from agnostics.types.rollout import PHASES
from agnostics.util.column_ranges import LARGEST_INTEGER
from agnostics.web.page import choice, not_found, number, paginate, path_number, reading, render
from agnostics.web.queries import steps as queries
from agnostics.web.queries.runs import SECONDS, run_settings
from agnostics.web.runs import run_or_404

SIZE = 50
GROUPS = 16
SLOWEST = 10
TRACKS = ("generation", "verification", "training")


@dataclass(frozen=True, slots=True)
class TimelineBar:
    """A part of a step on its timeline: begin and length as fractions of the step, and its seconds."""

    name: str
    begin: float
    fraction: float
    seconds: float


def of_run(request: Request) -> Response:
    """The steps of a run, newest first."""
    with reading(request) as connection:
        line = run_or_404(connection, request)
        before = number(request.query_params.get("before"), "before", LARGEST_INTEGER)
        steps = queries.steps_page(connection, line.run, SIZE + 1, before)
    rows = paginate(request, list(steps.items()), SIZE, "before", lambda item: item[0])
    return render(request, "steps.html", line=line, page=rows)


def step(request: Request) -> Response:
    """One step of a run, or an evaluation after it."""
    number_ = path_number(request, "step", LARGEST_INTEGER)
    phase = choice(request, "phase", PHASES, "train")
    after = number(request.query_params.get("after"), "after")
    with reading(request) as connection:
        line = run_or_404(connection, request)
        metrics = queries.step_metrics(connection, line.run, number_)
        groups = queries.groups_page(connection, line.run, phase, number_, GROUPS + 1, after)
        slowest = queries.slowest(connection, line.run, phase, number_, SLOWEST)
        sequential = not (run_settings(connection, line.run).get("train") or {}).get("max_off_policy_steps")
    own = {name: value for name, value in metrics.items() if name.startswith("eval_") == (phase != "train")}
    if not groups and not own:
        raise not_found("step")
    known = {name: value for name, value in own.items() if value is not None}
    rows = paginate(request, groups, GROUPS, "after", lambda group: group.task_id)
    return render(
        request,
        "step.html",
        line=line,
        step=number_,
        phase=phase,
        metrics=own,
        timeline=_timeline(known, sequential=sequential),
        sequential=sequential,
        busy={track: 1 - known[f"idle_{track}"] for track in TRACKS if f"idle_{track}" in known},
        page=rows,
        slowest=slowest,
    )


def _timeline(metrics: Mapping[str, float], *, sequential: bool) -> list[TimelineBar]:
    """The parts of a step's time, one after the other if the run generates and updates in turn."""
    total = metrics.get("step_s") or sum(metrics.get(name, 0.0) for name in SECONDS)
    bars, begin = list[TimelineBar](), 0.0
    for name in SECONDS:
        if total and name in metrics:
            fraction = min(metrics[name] / total, 1.0 - begin)
            label = name.removesuffix("_s").replace("_", " ")
            bars.append(TimelineBar(label, begin, fraction, metrics[name]))
            begin += fraction if sequential else 0.0
    return bars
