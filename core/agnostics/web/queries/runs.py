"""Runs: a page of the list, one with its settings, and the curves of its metrics."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from sqlalchemy import Connection, func, select

from agnostics.store import schema
from agnostics.store.queries import runs as queries
from agnostics.store.queries.runs import RunSummary, run_summary
from agnostics.types.rollout import PHASES
from agnostics.types.verification import Verdict

MOST_NAMES = 200
MOST_POINTS = 500
EVALUATIONS = ("eval_before", "eval_during", "eval_after")
SECONDS = ("generation_s", "verification_wait_s", "update_s", "weight_sync_s")
VERDICTS = tuple(str(verdict) for verdict in reversed(Verdict) if verdict is not Verdict.SKIPPED)
FRACTIONS = tuple(f"fraction_{verdict}" for verdict in VERDICTS)
IDLE = ("idle_generation", "idle_verification", "idle_training")
SUPERVISED = ("loss", "eval_during_loss", "grad_norm", "tokens_per_s")
CURVE_METRICS = ("pass_rate", "reward_mean", "tokens_mean", *SECONDS, *IDLE, *FRACTIONS, *SUPERVISED)
_run, _metric = schema.run.c, schema.step_metric.c


@dataclass(frozen=True, slots=True)
class HeldOutScore:
    """pass@1 on held-out tasks after `step` training steps, with its 95 % interval, None if it is not stored."""

    phase: str
    step: int
    pass_at_1: float
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class CurveData:
    """The curves of a run: values by metric name, one for each of `steps`, None if it is not stored.

    With more than 500 steps, each point is the mean of `width` steps, and has the number of the last of them.
    """

    steps: list[int]
    values: Mapping[str, list[float | None]]
    width: int
    held_out: list[HeldOutScore]
    """On validation tasks if the run was evaluated during training, so that one curve is of one set of tasks."""


def run_names(connection: Connection) -> tuple[list[str], list[str]]:
    """The languages and the models of the runs, at most 200 of each."""
    languages = select(schema.language.c.name).distinct().join(schema.run).order_by(schema.language.c.name)
    models = select(_run.model).distinct().order_by(_run.model)
    return list(connection.scalars(languages.limit(MOST_NAMES))), list(connection.scalars(models.limit(MOST_NAMES)))


def runs_page(
    connection: Connection, size: int, *, language: str = "", status: str = "", model: str = "", before: str = ""
) -> list[RunSummary]:
    """The newest `size` runs with ids before `before`; an empty text filters nothing."""
    query = select(_run.id).join(schema.language).order_by(_run.id.desc()).limit(size)
    filters = {schema.language.c.name: language, _run.status: status, _run.model: model}
    query = query.where(*(column == value for column, value in filters.items() if value))
    if before:
        query = query.where(_run.id < before)
    return [run_summary(connection, run) for run in connection.scalars(query).all()]


def find_run(connection: Connection, run: str) -> RunSummary | None:
    """The run with this id, None if there is none."""
    id_ = run_id_or_none(connection, run)
    return None if id_ is None else run_summary(connection, id_)


def run_id_or_none(connection: Connection, run: str) -> str | None:
    """`run` if it is the id of a run, else None."""
    return connection.scalar(select(_run.id).where(_run.id == run))


def run_settings(connection: Connection, run: str) -> Mapping[str, Any]:
    """The configuration of `run`."""
    config: Mapping[str, Any] = connection.scalars(select(_run.config).where(_run.id == run)).one()
    return config


def progress(connection: Connection, run: str) -> str:
    """A state of `run` that changes with every new step, completion or status."""
    last = select(func.max(_metric.step)).where(_metric.run_id == run).scalar_subquery()
    programs = select(func.count()).where(schema.verification.c.run_id == run).scalar_subquery()
    status, step, count = connection.execute(select(_run.status, last, programs).where(_run.id == run)).one()
    return f"{status}.{step}.{count}"


def verdicts(connection: Connection, run: str) -> dict[str, dict[str, int]]:
    """The number of programs of `run` by phase and verdict."""
    counts = dict[str, dict[str, int]]()
    for phase, verdict, programs in queries.verdicts(connection, run):
        counts.setdefault(phase, dict.fromkeys(VERDICTS, 0))[verdict] = programs
    return {phase: counts[phase] for phase in PHASES if phase in counts}


def curves(connection: Connection, run: str) -> CurveData:
    """The curves of `run`."""
    metrics = _metrics(connection, run, CURVE_METRICS)
    width = -(-len(metrics) // MOST_POINTS) or 1
    groups = [list(metrics)[start : start + width] for start in range(0, len(metrics), width)]
    values = {name: [_mean(metrics, group, name) for group in groups] for name in CURVE_METRICS}
    evaluations = held_out(connection, run)
    validations = [one for one in evaluations if one.phase == "eval_during"]
    return CurveData([group[-1] for group in groups], values, width, validations or evaluations)


def held_out(connection: Connection, run: str) -> list[HeldOutScore]:
    """The evaluations on held-out tasks, in order."""
    names = {f"{phase}_pass_at_1{end}" for phase in EVALUATIONS for end in ("", "_low", "_high")}
    return [
        HeldOutScore(phase, step, rate, metrics.get(f"{phase}_pass_at_1_low"), metrics.get(f"{phase}_pass_at_1_high"))
        for step, metrics in _metrics(connection, run, names).items()
        for phase in EVALUATIONS
        if (rate := metrics.get(f"{phase}_pass_at_1")) is not None
    ]


def _metrics(connection: Connection, run: str, names: Sequence[str] | set[str]) -> dict[int, dict[str, float]]:
    query = select(_metric.step, _metric.name, _metric.value).where(
        _metric.run_id == run, _metric.name.in_(names), _metric.value.is_not(None)
    )
    metrics = defaultdict[int, dict[str, float]](dict)
    for step, name, value in connection.execute(query.order_by(_metric.step)):
        metrics[step][name] = value
    return dict(metrics)


def _mean(metrics: Mapping[int, Mapping[str, float]], steps: Sequence[int], name: str) -> float | None:
    values = [metrics[step][name] for step in steps if name in metrics[step]]
    return fmean(values) if values else None
