"""What an evaluation came to, made from what the store holds of it; and whether two differ."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import fmean
from typing import Any

from sqlalchemy import Connection

from agnostics.evaluate.selection import EXAMPLES, Candidate, Choice, best, choice_at_k, majority, short
from agnostics.store.queries.evaluations import (
    EvaluatedProgram,
    TaskOutcome,
    generated_tests_passed,
    programs_by_task,
    task_outcomes,
)
from agnostics.store.queries.runs import RunSummary, run_summary, verdicts
from agnostics.types.errors import UsageError
from agnostics.util.statistics import bootstrap_interval, pass_at_k, sign_flip_p_value, wilson_interval

SHORT = 3
"""The m of short-m@k (section 7.6 of the CWM paper)."""
_CHOICES: dict[str, Choice] = {"majority@{k}": majority, f"short-{SHORT}@{{k}}": short(SHORT), "best@{k}": best}


@dataclass(frozen=True, slots=True)
class Rate:
    """A mean over `tasks` tasks, with its 95 % interval."""

    rate: float
    low: float
    high: float
    tasks: int


@dataclass(frozen=True, slots=True)
class Evaluation:
    """An evaluation. `rates` are pass@k and, where programs voted, the choices among k, by name.

    `by_difficulty` and `by_tag` hold pass@1; a task counts for each of its tags.
    """

    run: RunSummary
    rates: Mapping[str, Rate]
    by_difficulty: Mapping[str, Rate]
    by_tag: Mapping[str, Rate]
    verdicts: Mapping[str, int]
    tasks: Mapping[str, float]
    """pass@1 of each task."""

    @property
    def pass_at_1(self) -> Rate:
        """The share of programs accepted, the mean over tasks."""
        return self.rates["pass@1"]

    def as_dict(self) -> dict[str, Any]:
        """The evaluation as JSON, without its tasks."""
        tables = ("rates", "by_difficulty", "by_tag")
        return {
            **{name: getattr(self.run, name) for name in ("run", "model", "language", "dataset", "status")},
            "programs": self.run.completions,
            **{table: {name: asdict(rate) for name, rate in getattr(self, table).items()} for table in tables},
            "verdicts": dict(self.verdicts),
        }


@dataclass(frozen=True, slots=True)
class Difference:
    """How much higher pass@1 is in `run` than in `baseline`, task by task, with its 95 % interval; `p` is the chance of
    a difference as large where neither is better.
    """

    run: str
    baseline: str
    mean: float
    low: float
    high: float
    p: float
    tasks: int


def evaluation_of(connection: Connection, run: str, ks: Sequence[int], *, vote: bool = False) -> Evaluation:
    """The evaluation `run` with pass@1, and pass@k for each of `ks`: over the tasks that have as many programs.

    Raises UsageError where no program was judged, or where no task has k of them.
    """
    line = run_summary(connection, run)
    outcomes = task_outcomes(connection, run)
    if not outcomes:
        raise UsageError(f"run {run} holds no judged program; agn results show {run} says what it holds")
    rates = {f"pass@{k}": _pass_at(outcomes, k, line.seed) for k in sorted({1, *ks})}
    if vote:
        rates |= _chosen(connection, run, max(ks, default=1), line.seed)
    return Evaluation(
        run=line,
        rates=rates,
        by_difficulty=_grouped(((task.difficulty,) if task.difficulty else (), task) for task in outcomes),
        by_tag=_grouped((task.tags, task) for task in outcomes),
        verdicts={verdict: count for phase, verdict, count in verdicts(connection, run) if phase == "eval"},
        tasks={task.task: task.accepted / task.programs for task in outcomes},
    )


def compared(evaluation: Evaluation, baseline: Evaluation) -> Difference:
    """The paired comparison of two evaluations, on the tasks that they share.

    Raises UsageError where they share none.
    """
    return paired((evaluation.run.run, evaluation.tasks), (baseline.run.run, baseline.tasks), baseline.run.seed)


def paired(run: tuple[str, Mapping[str, float]], baseline: tuple[str, Mapping[str, float]], seed: int) -> Difference:
    """The paired comparison of a run with another: both are an id, and pass@1 of each task.

    Raises UsageError where they share no task.
    """
    (name, tasks), (other, others) = run, baseline
    differences = [tasks[task] - rate for task, rate in others.items() if task in tasks]
    if not differences:
        raise UsageError(f"runs {name} and {other} share no task; compare evaluations on the same data set")
    interval = bootstrap_interval(differences, seed=seed)
    p = sign_flip_p_value(differences, seed=seed)
    return Difference(name, other, fmean(differences), *interval, p, len(differences))


def _pass_at(outcomes: Iterable[TaskOutcome], k: int, seed: int) -> Rate:
    able = [task for task in outcomes if task.programs >= k]
    if not able:
        raise UsageError(f"pass@{k} needs {k} judged programs for a task, and no task has as many; lower --k")
    if all(task.programs == 1 for task in able):  # single trials, with no share to resample
        accepted = sum(task.accepted for task in able)
        return Rate(accepted / len(able), *wilson_interval(accepted, len(able)), len(able))
    return _mean([pass_at_k(task.programs, task.accepted, k) for task in able], seed)


def _mean(values: Sequence[float], seed: int) -> Rate:
    return Rate(fmean(values), *bootstrap_interval(values, seed=seed), len(values))


def _grouped(named: Iterable[tuple[Iterable[str], TaskOutcome]]) -> dict[str, Rate]:
    groups = defaultdict[str, list[TaskOutcome]](list)
    for names, task in named:
        for name in names:
            groups[name].append(task)
    return {name: _pass_at(tasks, 1, 0) for name, tasks in sorted(groups.items())}


def _chosen(connection: Connection, run: str, k: int, seed: int) -> dict[str, Rate]:
    """What each way to choose one of `k` programs comes to, over the tasks that have as many."""
    written = generated_tests_passed(connection, run)
    found = defaultdict[str, list[float]](list)
    for task, programs in programs_by_task(connection, run):
        candidates = [_candidate(one, written.get((task, one.program), 0)) for one in programs]
        for name, choose in _CHOICES.items() if len(candidates) >= k else ():
            found[name.format(k=k)].append(choice_at_k(candidates, k, choose, seed=f"{seed}/{task}"))
    return {name: _mean(values, seed) for name, values in found.items()}


def _candidate(program: EvaluatedProgram, written: int) -> Candidate:
    examples = sum(verdict == "accepted" for verdict, _ in program.tests[:EXAMPLES])
    return Candidate(program.verdict == "accepted", program.tokens, _output(program), examples, written)


def _output(program: EvaluatedProgram) -> str | None:
    """What a program votes for: what it said in every test, white space aside; None where it did not reach an end.

    Where outputs are not compared, it votes for its own text (section 7.2 of the CWM paper).
    """
    if not program.compared:
        return None if program.program is None else str(program.program)
    if not program.tests or any(verdict not in {"accepted", "wrong_answer"} for verdict, _ in program.tests):
        return None
    return "\0".join(" ".join(output.split()) for _, output in program.tests)
