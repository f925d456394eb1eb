"""Summaries of runs: the list, pass@1, the training curve, verdicts, and pass rates by family of tasks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from statistics import fmean
from typing import Any

from sqlalchemy import Connection, bindparam, func, select, text

from agnostics.store import schema
from agnostics.store.filters import ALL_RUNS, RunFilter
from agnostics.types.errors import UsageError, unknown_name_error
from agnostics.types.language import Language
from agnostics.types.verification import Verdict
from agnostics.util.statistics import rate_interval


@dataclass(frozen=True, slots=True)
class RunSummary:
    """A run in one row. `steps` and `completions` count the stored ones; `pass_at_1` is by phase of evaluation."""

    run: str
    kind: str
    status: str
    language: str
    model: str
    dataset: str
    seed: int
    started_at: datetime
    finished_at: datetime | None
    steps: int
    completions: int
    pass_at_1: dict[str, float]

    def as_dict(self) -> dict[str, Any]:
        """The run as JSON; times are UTC. The pass@1 of an evaluation run is its `pass_at_1_after`."""
        rates = self.pass_at_1
        return {
            **{name: value for name, value in asdict(self).items() if name != "pass_at_1"},
            "started_at": f"{self.started_at:%Y-%m-%dT%H:%M:%SZ}",
            "finished_at": self.finished_at and f"{self.finished_at:%Y-%m-%dT%H:%M:%SZ}",
            "pass_at_1_before": rates.get("eval_before"),
            "pass_at_1_after": rates.get("eval_after", rates.get("eval")),
        }


@dataclass(frozen=True, slots=True)
class EvalScore:
    """pass@1 over `tasks` tasks in a phase, with its 95 % bootstrap interval over families of tasks."""

    phase: str
    pass_at_1: float
    interval: tuple[float, float]
    tasks: int


@dataclass(frozen=True, slots=True)
class PassCount:
    """Programs and accepted ones under a `name` (a step, a task, a family); sandbox errors are not counted."""

    name: Any
    programs: int
    accepted: int
    family: str | None = None
    """The family of the task, in counts by task."""

    @property
    def rate(self) -> float:
        return self.accepted / self.programs


_RUNS = """
select r.id as run, r.kind, r.status, l.name as language, r.model, r.dataset, r.seed, r.started_at, r.finished_at,
       coalesce(case when r.kind = 'sft' then (select max(m.step) from step_metric m where m.run_id = r.id)
                     else (select max(v.step) from verification v where v.run_id = r.id and v.phase = 'train') end,
                0) as steps,
       (select count(*) from verification v where v.run_id = r.id and v.phase <> 'eval_generated_tests') as completions
from run r
join language l on l.id = r.language_id
where r.id in :runs
order by r.started_at desc, r.id desc
"""
_COUNTED = """
select {what} as name, count(*) as programs, sum(case when v.verdict = 'accepted' then 1 else 0 end) as accepted{more}
from verification v
{join}
where v.run_id = :run and v.phase = :phase and v.verdict <> 'sandbox_error'
group by {group}
order by {order}
"""
_BY_STEP = text(_COUNTED.format(what="v.step", more="", join="", group="v.step", order="v.step"))
_BY_TASK = text(
    _COUNTED.format(
        what="v.task_id",
        more=", t.family",
        join="join task t on t.id = v.task_id",
        group="v.task_id, t.family",
        order="min(v.completion_id)",
    )
)
_BY_FAMILY = text(
    _COUNTED.format(
        what="t.family",
        more="",
        join="join task t on t.id = v.task_id",
        group="t.family",
        order="avg(case when v.verdict = 'accepted' then 1.0 else 0.0 end), t.family",
    )
)
CALL_FORM = "call_form"
"""The key beside the settings of a run for the form in which its model calls tools."""
EVALUATIONS = ("eval_before", "eval_after", "eval")


def run_config(connection: Connection, run: str) -> tuple[dict[str, Any], Language]:
    """The configuration of `run` and its language, as they were stored."""
    language = schema.language.c
    query = select(schema.run.c.config, language.name, language.definition).join_from(schema.run, schema.language)
    config, name, definition = connection.execute(query.where(schema.run.c.id == run)).one()
    config = {key: value for key, value in config.items() if key != CALL_FORM}
    return config, Language.model_validate({"name": name, **definition})


def find_run(connection: Connection, name: str) -> str:
    """The id of the run named `name`: an id, the beginning of only one, or `last`.

    Raises UsageError if there is no such run, or several.
    """
    ids: list[str] = list(
        connection.scalars(select(schema.run.c.id).order_by(schema.run.c.started_at, schema.run.c.id))
    )
    if not ids:
        raise UsageError("no run is stored here yet; agn run starts one")
    if name == "last":
        return ids[-1]
    matches = [name] if name in ids else [id_ for id_ in ids if name and id_.startswith(name)]
    if len(matches) > 1:
        raise UsageError(f"{len(matches)} runs begin with {name!r}: {', '.join(matches[:5])}")
    if not matches:
        raise unknown_name_error("run", name, ids[-20:])
    return matches[0]


def list_runs(connection: Connection, run_filter: RunFilter = ALL_RUNS) -> list[RunSummary]:
    """The runs that match `run_filter`, newest first."""
    runs = [row.id for row in connection.execute(run_filter.ids())]
    return _run_summaries(connection, runs) if runs else []


def run_summary(connection: Connection, run: str) -> RunSummary:
    """The run whose id is `run`."""
    return _run_summaries(connection, [run])[0]


def _run_summaries(connection: Connection, runs: Sequence[str]) -> list[RunSummary]:
    times = {name: schema.run.c[name].type for name in ("started_at", "finished_at")}
    query = text(_RUNS).bindparams(bindparam("runs", expanding=True)).columns(**times)
    rows = connection.execute(query, {"runs": runs}).mappings().all()
    return [RunSummary(**row, pass_at_1=_pass_at_1(connection, row["run"])) for row in rows]


def _pass_at_1(connection: Connection, run: str) -> dict[str, float]:
    means = {phase: _mean_rate(_counts(connection, _BY_TASK, run, phase)) for phase in EVALUATIONS}
    return {phase: mean for phase, mean in means.items() if mean is not None}


def _mean_rate(counts: Sequence[PassCount]) -> float | None:
    return fmean(count.rate for count in counts) if counts else None


def scores(connection: Connection, run: str, seed: int) -> list[EvalScore]:
    """pass@1 in each evaluation of `run`, in order; intervals are resampled from `seed`."""
    counts = {phase: _counts(connection, _BY_TASK, run, phase) for phase in EVALUATIONS}
    return [_eval_score(phase, tasks, seed) for phase, tasks in counts.items() if tasks]


def _eval_score(phase: str, tasks: Sequence[PassCount], seed: int) -> EvalScore:
    rates = [task.rate for task in tasks]
    interval = rate_interval(rates, [task.family for task in tasks], seed=seed)
    return EvalScore(phase, fmean(rates), interval, len(rates))


def curve(connection: Connection, run: str) -> list[PassCount]:
    """The pass rate of each training step of `run`."""
    return _counts(connection, _BY_STEP, run, "train")


def family_counts(connection: Connection, run: str) -> tuple[str, list[PassCount]]:
    """The phase, and the pass rate of each family of tasks in it, hardest first.

    The phase is the last evaluation of `run` that has families, else its training.
    """
    for phase in (*reversed(EVALUATIONS), "train"):
        counts = [count for count in _counts(connection, _BY_FAMILY, run, phase) if count.name is not None]
        if counts:
            return phase, counts
    return "train", []


def verdicts(connection: Connection, run: str) -> list[tuple[str, str, int]]:
    """The number of programs of `run` as (phase, verdict, programs), most frequent first.

    One pass over an index, without sorting.
    """
    done = schema.verification.c
    counts = [func.count().filter(done.verdict == verdict) for verdict in Verdict]
    query = select(done.phase, *counts).where(done.run_id == run).group_by(done.phase)
    rows = connection.execute(query)
    present = [(phase, str(v), n) for phase, *numbers in rows for v, n in zip(Verdict, numbers, strict=True) if n]
    return sorted(present, key=lambda row: (-row[2], row[1]))


def _counts(connection: Connection, query: Any, run: str, phase: str) -> list[PassCount]:
    return [PassCount(*row) for row in connection.execute(query, {"run": run, "phase": phase})]
