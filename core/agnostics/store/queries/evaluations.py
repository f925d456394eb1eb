"""The contents of an evaluation's report: pass counts by task, and the programs with their outputs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from sqlalchemy import Connection, case, func, select

from agnostics.store import schema
from agnostics.store.queries.runs import CALL_FORM
from agnostics.types.errors import UsageError
from agnostics.types.task import Test

_verification, _task, _completion, _test = (
    schema.verification.c,
    schema.task.c,
    schema.completion.c,
    schema.test_result.c,
)


@dataclass(frozen=True, slots=True)
class TaskOutcome:
    """The programs of a task and the accepted ones among them; sandbox errors are not counted."""

    task: str
    family: str | None
    difficulty: str | None
    tags: tuple[str, ...]
    programs: int
    accepted: int


@dataclass(frozen=True, slots=True)
class EvaluatedProgram:
    """A verified completion; `program` is the id of its program's text, None if it has no program."""

    verdict: str
    tokens: int
    program: int | None
    compared: bool
    """Whether outputs are compared with expected ones. If not, they are no answer to vote on."""
    tests: tuple[tuple[str, str], ...]
    """The verdict and the output of each test."""


def evaluation_config(connection: Connection, run: str) -> dict[str, Any]:
    """The settings of the evaluation `run`. Raises UsageError if it is a training run."""
    kind, config = connection.execute(
        select(schema.run.c.kind, schema.run.c.config).where(schema.run.c.id == run)
    ).one()
    if kind != "eval":
        raise UsageError(f"run {run} is not an evaluation; agn results list shows which are")
    return {key: value for key, value in config.items() if key != CALL_FORM}


def stored_samples(connection: Connection, run: str) -> dict[str, frozenset[int]]:
    """The indices of the samples of each task that `run` has verified."""
    joined = schema.verification.join(schema.completion, _verification.completion_id == _completion.id).join(
        schema.task
    )
    query = (
        select(_task.key, _completion.sample)
        .select_from(joined)
        .where(_verification.run_id == run, _verification.phase == "eval")
    )
    stored = defaultdict[str, set[int]](set)
    for key, sample in connection.execute(query):
        stored[key].add(sample)
    return {key: frozenset(samples) for key, samples in stored.items()}


def task_outcomes(connection: Connection, run: str) -> list[TaskOutcome]:
    """The pass counts of each task of the evaluation `run`, in the order in which the tasks were first verified."""
    accepted = func.sum(case((_verification.verdict == "accepted", 1), else_=0))
    tags = _task.definition["tags"]
    counted = (
        select(_verification.task_id, func.count().label("programs"), accepted.label("accepted"))
        .add_columns(func.min(_verification.completion_id).label("first"))
        .where(_verification.run_id == run, _verification.phase == "eval", _verification.verdict != "sandbox_error")
        .group_by(_verification.task_id)
        .subquery()
    )
    columns = (_task.key, _task.family, _task.difficulty, tags, counted.c.programs, counted.c.accepted)
    query = select(*columns).join_from(schema.task, counted, _task.id == counted.c.task_id).order_by(counted.c.first)
    return [
        TaskOutcome(key, family, difficulty, tuple(tags or ()), programs, int(accepted))
        for key, family, difficulty, tags, programs, accepted in connection.execute(query)
    ]


def task_metrics(connection: Connection, run: str) -> dict[str, dict[str, float]]:
    """The mean of each metric over the completions of each task of the evaluation `run`, by metric and task."""
    metric = schema.completion_metric.c
    query = (
        select(metric.name, _task.key, func.avg(metric.value))
        .join_from(schema.completion_metric, schema.verification, metric.completion_id == _verification.completion_id)
        .join(schema.task, _verification.task_id == _task.id)
        .where(_verification.run_id == run, _verification.phase == "eval", _verification.verdict != "sandbox_error")
        .where(metric.value.is_not(None))
        .group_by(metric.name, _verification.task_id, _task.key)
        .order_by(metric.name, _verification.task_id)
    )
    means = defaultdict[str, dict[str, float]](dict)
    for name, key, mean in connection.execute(query):
        means[name][key] = mean
    return dict(means)


def family_samples(connection: Connection, run: str) -> dict[str, tuple[int, int]]:
    """For each family of tasks of the evaluation `run`, the samples that all of its tasks have, and how many of them
    are accepted in all; a sample with a sandbox error is not counted.
    """
    accepted = func.sum(case((_verification.verdict == "accepted", 1), else_=0))
    query = (
        select(_task.family, _completion.sample, func.count(), accepted)
        .join_from(schema.verification, schema.completion, _verification.completion_id == _completion.id)
        .join(schema.task, _verification.task_id == _task.id)
        .where(_verification.run_id == run, _verification.phase == "eval", _verification.verdict != "sandbox_error")
        .where(_task.family.is_not(None))
        .group_by(_task.family, _completion.sample)
        .order_by(_task.family, _completion.sample)
    )
    samples = {}
    for family, rows in groupby(connection.execute(query), lambda row: str(row[0])):
        counts = [(tasks, int(of_them)) for _, _, tasks, of_them in rows]
        most = max(tasks for tasks, _ in counts)
        whole = [of_them for tasks, of_them in counts if tasks == most]
        samples[family] = (len(whole), sum(of_them == most for of_them in whole))
    return samples


def programs_by_task(connection: Connection, run: str) -> Iterator[tuple[str, list[EvaluatedProgram]]]:
    """The programs of each task of the evaluation `run`, task by task; at most one task's are held in memory."""
    columns = (
        _verification.task_id,
        _task.key,
        _verification.completion_id,
        _verification.verdict,
        _completion.tokens,
        _verification.program_id,
    )
    query = (
        select(*columns, _task.definition["compare"]["mode"].label("mode"), _test.verdict.label("test"), _test.stdout)
        .join_from(schema.verification, schema.completion, _verification.completion_id == _completion.id)
        .join(schema.task, _verification.task_id == _task.id)
        .outerjoin(schema.test_result, _test.completion_id == _verification.completion_id)
        .where(_verification.run_id == run, _verification.phase == "eval", _verification.verdict != "sandbox_error")
        .order_by(_verification.task_id, _verification.completion_id, _test.number)
        .execution_options(yield_per=500)
    )
    rows = connection.execute(query)
    for (_, key), of_task in groupby(rows, lambda row: (row.task_id, row.key)):
        yield key, [_evaluated(list(results)) for _, results in groupby(of_task, lambda row: row.completion_id)]


def stored_generated_tests(connection: Connection, run: str) -> dict[str, tuple[Test, ...]]:
    """The generated tests of the evaluation `run` by task, if programs have been run on them."""
    query = select(_task.key, _task.definition["tests"]).where(
        _task.id.in_(
            select(_verification.task_id).where(
                _verification.run_id == run, _verification.phase == "eval_generated_tests"
            )
        )
    )
    return {key: tuple(Test(**test) for test in tests) for key, tests in connection.execute(query)}


def programs_without_generated_tests(connection: Connection, run: str, task: str) -> list[tuple[int, str]]:
    """The verified programs of `task` in the evaluation `run` that were not yet run on generated tests.

    Each text once, with the index of a sample that contains it.
    """
    of_task = (_verification.run_id == run, _verification.task_id.in_(select(_task.id).where(_task.key == task)))
    tested = select(_verification.program_id).where(
        *of_task, _verification.phase == "eval_generated_tests", _verification.program_id.is_not(None)
    )
    query = (
        select(func.min(_completion.sample), schema.program.c.text)
        .join_from(schema.verification, schema.completion, _verification.completion_id == _completion.id)
        .join(schema.program, _verification.program_id == schema.program.c.id)
        .where(
            *of_task,
            _verification.phase == "eval",
            _verification.verdict != "sandbox_error",
            _verification.program_id.not_in(tested),
        )
        .group_by(_verification.program_id, schema.program.c.text)
        .order_by(_verification.program_id)
    )
    return [(sample, text) for sample, text in connection.execute(query)]


def generated_tests_passed(connection: Connection, run: str) -> dict[tuple[str, int | None], int]:
    """The number of generated tests that each program passes, by task and program's id."""
    query = (
        select(_task.key, _verification.program_id, _verification.tests_passed)
        .join_from(schema.verification, schema.task, _verification.task_id == _task.id)
        .where(
            _verification.run_id == run,
            _verification.phase == "eval_generated_tests",
            _verification.program_id.is_not(None),
        )
    )
    return {(key, program): passed for key, program, passed in connection.execute(query)}


def _evaluated(rows: list[Any]) -> EvaluatedProgram:
    first = rows[0]
    tests = tuple((row.test, row.stdout) for row in rows if row.test is not None)
    return EvaluatedProgram(first.verdict, first.tokens, first.program_id, first.mode != "nothing", tests)
