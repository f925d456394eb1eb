"""Runs: a page of the list, one with its settings, and its figures step by step."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from sqlalchemy import Connection, func, select

from agnostics.store import schema
from agnostics.store.queries import runs as queries
from agnostics.store.queries.runs import RunLine, run_line
from agnostics.types.rollout import PHASES
from agnostics.types.verification import Verdict

MOST_NAMES = 200
MOST_POINTS = 500
EVALUATIONS = ("eval_before", "eval_during", "eval_after")
SECONDS = ("sampling_s", "verifying_s", "updating_s", "syncing_s")
VERDICTS = tuple(str(verdict) for verdict in reversed(Verdict) if verdict is not Verdict.SKIPPED)
SHARES = tuple(f"share_{verdict}" for verdict in VERDICTS)
IDLE = ("idle_generation", "idle_verification", "idle_training")
CURVES = ("pass_rate", "reward_mean", "tokens_mean", *SECONDS, *IDLE, *SHARES)
_run, _metric = schema.run.c, schema.step_metric.c


@dataclass(frozen=True, slots=True)
class HeldOut:
    """pass@1 on held-out tasks after `step` training steps, with its 95 % interval; None where it is not known."""

    phase: str
    step: int
    pass_at_1: float
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class Points:
    """The curves of a run: a value for each of `steps` by the figure's name, None where it is not known.

    With more than 500 steps each point is the mean of `width` steps, and named by the last of them.
    """

    steps: list[int]
    values: Mapping[str, list[float | None]]
    width: int
    held_out: list[HeldOut]


def run_names(connection: Connection) -> tuple[list[str], list[str]]:
    """The languages and the models of the runs, at most 200 of each."""
    languages = select(schema.language.c.name).distinct().join(schema.run).order_by(schema.language.c.name)
    models = select(_run.model).distinct().order_by(_run.model)
    return list(connection.scalars(languages.limit(MOST_NAMES))), list(connection.scalars(models.limit(MOST_NAMES)))


def runs_page(
    connection: Connection, size: int, *, language: str = "", status: str = "", model: str = "", before: str = ""
) -> list[RunLine]:
    """The newest `size` runs with ids before `before`; an empty text filters nothing."""
    query = select(_run.id).join(schema.language).order_by(_run.id.desc()).limit(size)
    wanted = {schema.language.c.name: language, _run.status: status, _run.model: model}
    query = query.where(*(column == value for column, value in wanted.items() if value))
    if before:
        query = query.where(_run.id < before)
    return [run_line(connection, run) for run in connection.scalars(query).all()]


def find_run(connection: Connection, run: str) -> RunLine | None:
    """The run whose id is `run`."""
    known = known_run(connection, run)
    return None if known is None else run_line(connection, known)


def known_run(connection: Connection, run: str) -> str | None:
    """`run`, where it is the id of one."""
    return connection.scalar(select(_run.id).where(_run.id == run))


def run_settings(connection: Connection, run: str) -> Mapping[str, Any]:
    """The settings that `run` was started with."""
    found: Mapping[str, Any] = connection.scalars(select(_run.config).where(_run.id == run)).one()
    return found


def progress(connection: Connection, run: str) -> str:
    """Something that differs when there is news of `run`."""
    last = select(func.max(_metric.step)).where(_metric.run_id == run).scalar_subquery()
    programs = select(func.count()).where(schema.verification.c.run_id == run).scalar_subquery()
    status, step, count = connection.execute(select(_run.status, last, programs).where(_run.id == run)).one()
    return f"{status}.{step}.{count}"


def verdicts(connection: Connection, run: str) -> dict[str, dict[str, int]]:
    """How many programs of `run` got each verdict, by phase."""
    found = dict[str, dict[str, int]]()
    for phase, verdict, programs in queries.verdicts(connection, run):
        found.setdefault(phase, dict.fromkeys(VERDICTS, 0))[verdict] = programs
    return {phase: found[phase] for phase in PHASES if phase in found}


def points(connection: Connection, run: str) -> Points:
    """The curves of `run`."""
    found = _figures(connection, run, CURVES)
    width = -(-len(found) // MOST_POINTS) or 1
    groups = [list(found)[start : start + width] for start in range(0, len(found), width)]
    values = {name: [_mean(found, group, name) for group in groups] for name in CURVES}
    return Points([group[-1] for group in groups], values, width, held_out(connection, run))


def held_out(connection: Connection, run: str) -> list[HeldOut]:
    """What was measured on held-out tasks, in order."""
    names = {f"{phase}_pass_at_1{end}" for phase in EVALUATIONS for end in ("", "_low", "_high")}
    return [
        HeldOut(phase, step, rate, figures.get(f"{phase}_pass_at_1_low"), figures.get(f"{phase}_pass_at_1_high"))
        for step, figures in _figures(connection, run, names).items()
        for phase in EVALUATIONS
        if (rate := figures.get(f"{phase}_pass_at_1")) is not None
    ]


def _figures(connection: Connection, run: str, names: Sequence[str] | set[str]) -> dict[int, dict[str, float]]:
    query = select(_metric.step, _metric.name, _metric.value).where(
        _metric.run_id == run, _metric.name.in_(names), _metric.value.is_not(None)
    )
    found = defaultdict[int, dict[str, float]](dict)
    for step, name, value in connection.execute(query.order_by(_metric.step)):
        found[step][name] = value
    return dict(found)


def _mean(figures: Mapping[int, Mapping[str, float]], steps: Sequence[int], name: str) -> float | None:
    values = [figures[step][name] for step in steps if name in figures[step]]
    return fmean(values) if values else None
