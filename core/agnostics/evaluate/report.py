"""Reports of evaluations from the results database, and their paired comparison."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import fmean
from typing import Any

from sqlalchemy import Connection

from agnostics.analysis.rates import RateEstimate, mean_rate
from agnostics.environments.complexity import COMPLEXITY_ENVIRONMENTS
from agnostics.evaluate.selection import (
    EXAMPLES,
    Candidate,
    SelectionRule,
    best_by_tests,
    majority_vote,
    selection_accuracy,
    short_m,
)
from agnostics.store.queries.evaluations import (
    EvaluatedProgram,
    TaskOutcome,
    evaluation_config,
    family_samples,
    generated_tests_passed,
    programs_by_task,
    task_metrics,
    task_outcomes,
)
from agnostics.store.queries.runs import RunSummary, run_summary, verdicts
from agnostics.store.queries.tasks import sample_counts
from agnostics.types.errors import UsageError
from agnostics.util.statistics import (
    bootstrap_interval,
    pass_at_k,
    sign_flip_p_value,
)

SHORT = 3
"""The m of short-m@k (section 7.6 of the CWM paper)."""
_RULES: dict[str, SelectionRule] = {
    "majority@{k}": majority_vote,
    f"short-{SHORT}@{{k}}": short_m(SHORT),
    "best@{k}": best_by_tests,
}


@dataclass(frozen=True, slots=True)
class EvaluationReport:
    """The report of an evaluation. `rates` holds pass@k, all@k in an environment of complexity and, with voting, the
    selections among k, by name.

    `metrics` holds what the environment has measured, as means over tasks, some of which are lengths and no rates.
    `by_difficulty` and `by_tag` hold pass@1; a task counts for each of its tags.
    """

    run: RunSummary
    rates: Mapping[str, RateEstimate]
    metrics: Mapping[str, RateEstimate]
    by_difficulty: Mapping[str, RateEstimate]
    by_tag: Mapping[str, RateEstimate]
    verdicts: Mapping[str, int]
    tasks: Mapping[str, float]
    """pass@1 of each task."""
    families: Mapping[str, str | None]
    """The family of each task."""

    @property
    def pass_at_1(self) -> RateEstimate:
        """The fraction of accepted programs, as a mean over tasks."""
        return self.rates["pass@1"]

    def as_dict(self) -> dict[str, Any]:
        """The report as JSON, without its tasks."""
        tables = ("rates", "metrics", "by_difficulty", "by_tag")
        return {
            **{name: getattr(self.run, name) for name in ("run", "model", "language", "dataset", "status")},
            "programs": self.run.completions,
            **{table: {name: asdict(rate) for name, rate in getattr(self, table).items()} for table in tables},
            "verdicts": dict(self.verdicts),
        }


@dataclass(frozen=True, slots=True)
class PairedDifference:
    """pass@1 of `run` less that of `baseline`, as a mean over shared tasks with its 95 % interval by family.

    `p` is the two-sided p-value of the sign-flip test: the probability of such a difference if neither is better.
    """

    run: str
    baseline: str
    mean: float
    low: float
    high: float
    p: float
    tasks: int


def evaluation_report(connection: Connection, run: str, ks: Sequence[int], *, vote: bool = False) -> EvaluationReport:
    """The report of the evaluation `run` with pass@1 and pass@k for each of `ks`, over the tasks with k programs.

    Raises UsageError if no program was verified, or if no task has k of them.
    """
    line = run_summary(connection, run)
    outcomes = task_outcomes(connection, run)
    if not outcomes:
        raise UsageError(f"run {run} holds no verified program; agn results show {run} says what it holds")
    families = {task.task: task.family for task in outcomes}
    rates = {f"pass@{k}": _pass_at(outcomes, k, line.seed) for k in sorted({1, *ks})}
    if evaluation_config(connection, run).get("environment") in COMPLEXITY_ENVIRONMENTS:
        rates |= _all_at(family_samples(connection, run), sorted({1, *ks}), line.seed)
    if vote:
        rates |= _selection_rates(connection, run, max(ks, default=1), families, line.seed)
    return EvaluationReport(
        run=line,
        rates=rates,
        metrics=_metrics(connection, run, families, line.seed),
        by_difficulty=_grouped(((task.difficulty,) if task.difficulty else (), task) for task in outcomes),
        by_tag=_grouped((task.tags, task) for task in outcomes),
        verdicts={verdict: count for phase, verdict, count in verdicts(connection, run) if phase == "eval"},
        tasks={task.task: task.accepted / task.programs for task in outcomes},
        families=families,
    )


def compare_evaluations(evaluation: EvaluationReport, baseline: EvaluationReport) -> PairedDifference:
    """The paired difference of two evaluations on their shared tasks. Raises UsageError if they share none."""
    return paired_difference(
        (evaluation.run.run, evaluation.tasks),
        (baseline.run.run, baseline.tasks),
        baseline.families,
        baseline.run.seed,
    )


def training_gain(connection: Connection, run: str) -> PairedDifference | None:
    """pass@1 of the training run `run` after training less that before, on its held-out tasks; None without both."""
    before, after = (sample_counts(connection, run, [phase]) for phase in ("eval_before", "eval_after"))
    if not before.keys() & after.keys():
        return None
    rates = [{task: one.accepted / one.programs for task, one in tasks.items()} for tasks in (after, before)]
    families = {task: one.family for task, one in before.items()}
    return paired_difference((run, rates[0]), (run, rates[1]), families, run_summary(connection, run).seed)


def paired_difference(
    run: tuple[str, Mapping[str, float]],
    baseline: tuple[str, Mapping[str, float]],
    families: Mapping[str, str | None],
    seed: int,
) -> PairedDifference:
    """The paired difference of two runs, each given as its id and pass@1 of each task, with the tasks' families.

    Raises UsageError if they share no task.
    """
    (name, tasks), (other, others) = run, baseline
    shared = [task for task in others if task in tasks]
    if not shared:
        raise UsageError(f"runs {name} and {other} share no task; compare evaluations on the same data set")
    differences, of_family = [tasks[task] - others[task] for task in shared], [families[task] for task in shared]
    interval = bootstrap_interval(differences, of_family, seed=seed)
    p = sign_flip_p_value(differences, of_family, seed=seed)
    return PairedDifference(name, other, fmean(differences), *interval, p, len(differences))


def _pass_at(outcomes: Iterable[TaskOutcome], k: int, seed: int) -> RateEstimate:
    able = [task for task in outcomes if task.programs >= k]
    if not able:
        raise UsageError(f"pass@{k} needs {k} verified programs for a task, and no task has as many; lower --k")
    rates = [pass_at_k(task.programs, task.accepted, k) for task in able]
    return mean_rate(rates, [task.family for task in able], seed)


def _metrics(
    connection: Connection, run: str, families: Mapping[str, str | None], seed: int
) -> dict[str, RateEstimate]:
    """The metrics of the environment, each over the tasks whose completions have it."""
    return {
        name: mean_rate(list(of_task.values()), [families[task] for task in of_task], seed)
        for name, of_task in task_metrics(connection, run).items()
    }


def _all_at(families: Mapping[str, tuple[int, int]], ks: Sequence[int], seed: int) -> dict[str, RateEstimate]:
    """all@k: as pass@k, of samples that are accepted in all tasks of a family (section 7.5 of the CWM paper)."""
    rates = {}
    for k in ks:
        able = {family: counts for family, counts in families.items() if counts[0] >= k}
        if able:
            values = [pass_at_k(samples, accepted, k) for samples, accepted in able.values()]
            rates[f"all@{k}"] = mean_rate(values, list(able), seed)
    return rates


def _grouped(named: Iterable[tuple[Iterable[str], TaskOutcome]]) -> dict[str, RateEstimate]:
    groups = defaultdict[str, list[TaskOutcome]](list)
    for names, task in named:
        for name in names:
            groups[name].append(task)
    return {name: _pass_at(tasks, 1, 0) for name, tasks in sorted(groups.items())}


def _selection_rates(
    connection: Connection, run: str, k: int, families: Mapping[str, str | None], seed: int
) -> dict[str, RateEstimate]:
    """The accuracy of each selection rule among `k` programs, over the tasks with as many."""
    generated_passed = generated_tests_passed(connection, run)
    accuracies, of_family = defaultdict[str, list[float]](list), list[str | None]()
    for task, programs in programs_by_task(connection, run):
        if len(programs) < k:
            continue
        of_family.append(families[task])
        candidates = [_candidate(one, generated_passed.get((task, one.program), 0)) for one in programs]
        for name, rule in _RULES.items():
            accuracies[name.format(k=k)].append(selection_accuracy(candidates, k, rule, seed=f"{seed}/{task}"))
    return {name: mean_rate(values, of_family, seed) for name, values in accuracies.items()}


def _candidate(program: EvaluatedProgram, generated_passed: int) -> Candidate:
    examples_passed = sum(verdict == "accepted" for verdict, _ in program.tests[:EXAMPLES])
    accepted = program.verdict == "accepted"
    return Candidate(accepted, program.tokens, _output(program), examples_passed, generated_passed)


def _output(program: EvaluatedProgram) -> str | None:
    """The vote of a program: its output in every test, with white space normalized; None if a test did not finish.

    If the task does not compare outputs, it votes for its own text (section 7.2 of the CWM paper).
    """
    if not program.compared:
        return None if program.program is None else str(program.program)
    if not program.tests or any(verdict not in {"accepted", "wrong_answer"} for verdict, _ in program.tests):
        return None
    return "\0".join(" ".join(output.split()) for _, output in program.tests)
