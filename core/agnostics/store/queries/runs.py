"""What people ask of runs: which there are, how one went, which verdicts, and what was hard."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from statistics import fmean
from typing import Any

from sqlalchemy import JSON, Connection, Row, bindparam, func, select, text

from agnostics.store import schema
from agnostics.store.compressed import CompressedText
from agnostics.store.filters import EVERY_RUN, RunFilter
from agnostics.store.verdicts import number_of
from agnostics.types.errors import UsageError, unknown
from agnostics.types.failed_program import FAILED_VERDICTS, FailedProgram, run_message
from agnostics.types.verification import Difference, Verdict
from agnostics.util.statistics import bootstrap_interval


@dataclass(frozen=True, slots=True)
class RunLine:
    """A run in one line. `steps` and `completions` count what is stored; `pass_at_1` is by phase of evaluation."""

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
        """The run as JSON; times are UTC. What an evaluation measured stands as after."""
        rates = self.pass_at_1
        return {
            **{name: value for name, value in asdict(self).items() if name != "pass_at_1"},
            "started_at": f"{self.started_at:%Y-%m-%dT%H:%M:%SZ}",
            "finished_at": self.finished_at and f"{self.finished_at:%Y-%m-%dT%H:%M:%SZ}",
            "pass_at_1_before": rates.get("eval_before"),
            "pass_at_1_after": rates.get("eval_after", rates.get("eval")),
        }


@dataclass(frozen=True, slots=True)
class Score:
    """pass@1 over `tasks` tasks in a phase, with its 95 % bootstrap interval over tasks."""

    phase: str
    pass_at_1: float
    interval: tuple[float, float]
    tasks: int


@dataclass(frozen=True, slots=True)
class Count:
    """How often something was: `programs` judged (a failed sandbox judges nothing), `accepted` among them."""

    name: Any
    programs: int
    accepted: int

    @property
    def rate(self) -> float:
        return self.accepted / self.programs


_RUNS = """
select r.id as run, r.kind, r.status, l.name as language, r.model, r.dataset, r.seed, r.started_at, r.finished_at,
       coalesce((select max(v.step) from verification v where v.run_id = r.id and v.phase = 'train'), 0) as steps,
       (select count(*) from verification v where v.run_id = r.id and v.phase <> 'eval_written') as completions
from run r
join language l on l.id = r.language_id
where r.id in :runs
order by r.started_at desc, r.id desc
"""
_JUDGED = """
select {what} as name, count(*) as programs, sum(case when v.verdict = 'accepted' then 1 else 0 end) as accepted
from verification v
{join}
where v.run_id = :run and v.phase = :phase and v.verdict <> 'sandbox_error'
group by {group}
order by {order}
"""
_BY_STEP = text(_JUDGED.format(what="v.step", join="", group="v.step", order="v.step"))
_BY_TASK = text(_JUDGED.format(what="v.task_id", join="", group="v.task_id", order="min(v.completion_id)"))
_BY_KIND = text(
    _JUDGED.format(
        what="t.kind",
        join="join task t on t.id = v.task_id",
        group="t.kind",
        order="avg(case when v.verdict = 'accepted' then 1.0 else 0.0 end), t.kind",
    )
)
_FAULTY = """
select p.text, v.verdict, v.compile_message, t.stderr, t.exit_code, t.signal, t.difference
from (select program_id, max(completion_id) as id from verification
      where run_id = :run and phase in ('train', 'eval') and program_id is not null and verdict in ({faulty})
      group by program_id order by id desc limit :most) last
join verification v on v.completion_id = last.id
join program p on p.id = v.program_id
left join test_result t on t.completion_id = v.completion_id and t.number = (
    select min(number) from test_result where completion_id = v.completion_id and verdict = {number})
order by last.id desc
""".format(faulty=", ".join(f"'{verdict}'" for verdict in FAILED_VERDICTS), number=number_of("v.verdict"))
MOST_FAULTY = 2000
EVALUATIONS = ("eval_before", "eval_after", "eval")


def find_run(connection: Connection, name: str) -> str:
    """The id of the run named `name`: an id, the beginning of only one, or `last`.

    Raises UsageError where none or several answer to it.
    """
    ids: list[str] = list(
        connection.scalars(select(schema.run.c.id).order_by(schema.run.c.started_at, schema.run.c.id))
    )
    if not ids:
        raise UsageError("no run is stored here yet; agn run makes one")
    if name == "last":
        return ids[-1]
    found = [name] if name in ids else [id_ for id_ in ids if name and id_.startswith(name)]
    if len(found) > 1:
        raise UsageError(f"{len(found)} runs begin with {name!r}: {', '.join(found[:5])}")
    if not found:
        raise unknown("run", name, ids[-20:])
    return found[0]


def list_runs(connection: Connection, wanted: RunFilter = EVERY_RUN) -> list[RunLine]:
    """The runs that `wanted` means, newest first."""
    runs = [row.id for row in connection.execute(wanted.ids())]
    return _run_lines(connection, runs) if runs else []


def run_line(connection: Connection, run: str) -> RunLine:
    """The run whose id is `run`."""
    return _run_lines(connection, [run])[0]


def _run_lines(connection: Connection, runs: Sequence[str]) -> list[RunLine]:
    times = {name: schema.run.c[name].type for name in ("started_at", "finished_at")}
    query = text(_RUNS).bindparams(bindparam("runs", expanding=True)).columns(**times)
    rows = connection.execute(query, {"runs": runs}).mappings().all()
    return [RunLine(**row, pass_at_1=_pass_at_1(connection, row["run"])) for row in rows]


def _pass_at_1(connection: Connection, run: str) -> dict[str, float]:
    means = {phase: _mean_rate(_counts(connection, _BY_TASK, run, phase)) for phase in EVALUATIONS}
    return {phase: mean for phase, mean in means.items() if mean is not None}


def _mean_rate(counts: Sequence[Count]) -> float | None:
    return fmean(count.rate for count in counts) if counts else None


def scores(connection: Connection, run: str, seed: int) -> list[Score]:
    """pass@1 in each evaluation of `run`, in order; intervals are resampled from `seed`."""
    rates = {phase: [c.rate for c in _counts(connection, _BY_TASK, run, phase)] for phase in EVALUATIONS}
    return [Score(p, fmean(r), bootstrap_interval(r, seed=seed), len(r)) for p, r in rates.items() if r]


def curve(connection: Connection, run: str) -> list[Count]:
    """The programs of each training step of `run`."""
    return _counts(connection, _BY_STEP, run, "train")


def kinds(connection: Connection, run: str) -> tuple[str, list[Count]]:
    """The kinds of task of `run`, hardest first, in its last evaluation or else in training; and which of them."""
    for phase in (*reversed(EVALUATIONS), "train"):
        found = [count for count in _counts(connection, _BY_KIND, run, phase) if count.name is not None]
        if found:
            return phase, found
    return "train", []


def verdicts(connection: Connection, run: str) -> list[tuple[str, str, int]]:
    """How many programs of `run` got each verdict, as (phase, verdict, programs), most frequent first.

    One pass over an index, with nothing to sort.
    """
    done = schema.verification.c
    counts = [func.count().filter(done.verdict == verdict) for verdict in Verdict]
    query = select(done.phase, *counts).where(done.run_id == run).group_by(done.phase)
    rows = connection.execute(query)
    found = [(phase, str(v), n) for phase, *numbers in rows for v, n in zip(Verdict, numbers, strict=True) if n]
    return sorted(found, key=lambda one: (-one[2], one[1]))


def faulty_programs(connection: Connection, run: str) -> list[FailedProgram]:
    """The last different faulty programs of `run`, at most 2,000, the last first.

    What a training run was measured with, before and after, is not among them: held-out tasks are to stay unseen.
    """
    query = text(_FAULTY).columns(compile_message=CompressedText(), stderr=CompressedText(), difference=JSON())
    return [fault_of(row) for row in connection.execute(query, {"run": run, "most": MOST_FAULTY})]


def fault_of(row: Row[Any]) -> FailedProgram:
    """The fault in a row with the columns of `_FAULTY`."""
    verdict = Verdict(row.verdict)
    if verdict is Verdict.COMPILE_ERROR:
        return FailedProgram(row.text, verdict, row.compile_message or "")
    difference = Difference(**row.difference) if row.difference else None
    return FailedProgram(row.text, verdict, run_message(row.stderr or "", row.exit_code, row.signal), difference)


def _counts(connection: Connection, query: Any, run: str, phase: str) -> list[Count]:
    return [Count(*row) for row in connection.execute(query, {"run": run, "phase": phase})]
