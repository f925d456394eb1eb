"""The steps of a run, and one of them: where its time went, its figures, its groups."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response

from agnostics.types.rollout import PHASES
from agnostics.web.page import choice, missing, number, page, path_number, reading, rows
from agnostics.web.queries import steps as stored
from agnostics.web.queries.runs import SECONDS, run_settings
from agnostics.web.runs import run_or_404

SIZE = 50
GROUPS = 16
SLOWEST = 10
TRACKS = ("generation", "verification", "training")


@dataclass(frozen=True, slots=True)
class Stretch:
    """A part of a step: where it begins and how long it is, as shares of the step; and its seconds."""

    name: str
    begin: float
    share: float
    seconds: float


def of_run(request: Request) -> Response:
    """The steps of a run, newest first."""
    with reading(request) as connection:
        line = run_or_404(connection, request)
        before = number(request.query_params.get("before"), "before")
        found = stored.steps_page(connection, line.run, SIZE + 1, before)
    listed = rows(request, list(found.items()), SIZE, "before", lambda item: item[0])
    return page(request, "steps.html", line=line, listed=listed)


def step(request: Request) -> Response:
    """One step of a run, or an evaluation after it."""
    number_ = path_number(request, "step")
    phase = choice(request, "phase", PHASES, "train")
    after = number(request.query_params.get("after"), "after")
    with reading(request) as connection:
        line = run_or_404(connection, request)
        figures = stored.step_figures(connection, line.run, number_)
        groups = stored.groups_page(connection, line.run, phase, number_, GROUPS + 1, after)
        slowest = stored.slowest(connection, line.run, phase, number_, SLOWEST)
        in_turn = not (run_settings(connection, line.run).get("train") or {}).get("max_off_policy_steps")
    own = {name: value for name, value in figures.items() if name.startswith("eval_") == (phase != "train")}
    if not groups and not own:
        raise missing("step")
    known = {name: value for name, value in own.items() if value is not None}
    listed = rows(request, groups, GROUPS, "after", lambda group: group.task_id)
    return page(
        request,
        "step.html",
        line=line,
        step=number_,
        phase=phase,
        figures=own,
        stretches=_stretches(known, in_turn=in_turn),
        in_turn=in_turn,
        busy={track: 1 - known[f"idle_{track}"] for track in TRACKS if f"idle_{track}" in known},
        listed=listed,
        slowest=slowest,
    )


def _stretches(figures: Mapping[str, float], *, in_turn: bool) -> list[Stretch]:
    """Where the seconds of a step went: one after the other where a run samples and updates in turn."""
    whole = figures.get("seconds") or sum(figures.get(name, 0.0) for name in SECONDS)
    found, begin = list[Stretch](), 0.0
    for name in SECONDS:
        if whole and name in figures:
            share = min(figures[name] / whole, 1.0 - begin)
            found.append(Stretch(name.removesuffix("_s"), begin, share, figures[name]))
            begin += share if in_turn else 0.0
    return found
