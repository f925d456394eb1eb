"""What an evaluation's report is made from: what became of each task, and what each program said."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from sqlalchemy import Connection, case, func, select

from agnostics.store import schema
from agnostics.types.errors import UsageError
from agnostics.types.task import Test

_done, _task, _made, _test = schema.verification.c, schema.task.c, schema.completion.c, schema.test_result.c


@dataclass(frozen=True, slots=True)
class TaskOutcome:
    """How many programs for a task were judged (a failed sandbox judges nothing), and how many accepted."""

    task: str
    difficulty: str | None
    tags: tuple[str, ...]
    programs: int
    accepted: int


@dataclass(frozen=True, slots=True)
class Program:
    """A program that was judged: its text's number, None where there was none, and for each test what came of it."""

    verdict: str
    tokens: int
    program: int | None
    compared: bool
    """Whether outputs are compared: where they are not, they say nothing of the program."""
    tests: tuple[tuple[str, str], ...]
    """The verdict and the output of each test."""


def evaluation_config(connection: Connection, run: str) -> dict[str, Any]:
    """The settings of the evaluation `run`. Raises UsageError where it is a training run."""
    kind, config = connection.execute(
        select(schema.run.c.kind, schema.run.c.config).where(schema.run.c.id == run)
    ).one()
    if kind != "eval":
        raise UsageError(f"run {run} is no evaluation; agn results list says which are")
    found: dict[str, Any] = config
    return found


def stored_samples(connection: Connection, run: str) -> dict[str, frozenset[int]]:
    """The numbers of the answers to each task that `run` has verified."""
    joined = schema.verification.join(schema.completion, _done.completion_id == _made.id).join(schema.task)
    query = select(_task.key, _made.sample).select_from(joined).where(_done.run_id == run, _done.phase == "eval")
    found = defaultdict[str, set[int]](set)
    for key, sample in connection.execute(query):
        found[key].add(sample)
    return {key: frozenset(samples) for key, samples in found.items()}


def task_outcomes(connection: Connection, run: str) -> list[TaskOutcome]:
    """What became of each task of the evaluation `run`, in the order in which they were met."""
    accepted = func.sum(case((_done.verdict == "accepted", 1), else_=0))
    tags = _task.definition["tags"]
    counted = (
        select(_done.task_id, func.count().label("programs"), accepted.label("accepted"))
        .add_columns(func.min(_done.completion_id).label("first"))
        .where(_done.run_id == run, _done.phase == "eval", _done.verdict != "sandbox_error")
        .group_by(_done.task_id)
        .subquery()
    )
    columns = (_task.key, _task.difficulty, tags, counted.c.programs, counted.c.accepted)
    query = select(*columns).join_from(schema.task, counted, _task.id == counted.c.task_id).order_by(counted.c.first)
    return [
        TaskOutcome(key, difficulty, tuple(tags or ()), programs, int(accepted))
        for key, difficulty, tags, programs, accepted in connection.execute(query)
    ]


def programs_by_task(connection: Connection, run: str) -> Iterator[tuple[str, list[Program]]]:
    """The programs of each task of the evaluation `run`, task by task; no more than a task's are read at a time."""
    columns = (_done.task_id, _task.key, _done.completion_id, _done.verdict, _made.tokens, _done.program_id)
    query = (
        select(*columns, _task.definition["compare"]["mode"].label("mode"), _test.verdict.label("test"), _test.stdout)
        .join_from(schema.verification, schema.completion, _done.completion_id == _made.id)
        .join(schema.task, _done.task_id == _task.id)
        .outerjoin(schema.test_result, _test.completion_id == _done.completion_id)
        .where(_done.run_id == run, _done.phase == "eval", _done.verdict != "sandbox_error")
        .order_by(_done.task_id, _done.completion_id, _test.number)
        .execution_options(yield_per=500)
    )
    rows = connection.execute(query)
    for (_, key), of_task in groupby(rows, lambda row: (row.task_id, row.key)):
        yield key, [_program(list(of_one)) for _, of_one in groupby(of_task, lambda row: row.completion_id)]


def written_tests(connection: Connection, run: str) -> dict[str, tuple[Test, ...]]:
    """The tests that the model wrote in the evaluation `run`, by task: those on which programs were run."""
    query = select(_task.key, _task.definition["tests"]).where(
        _task.id.in_(select(_done.task_id).where(_done.run_id == run, _done.phase == "eval_written"))
    )
    return {key: tuple(Test(**test) for test in tests) for key, tests in connection.execute(query)}


def unexamined_programs(connection: Connection, run: str, task: str) -> list[tuple[int, str]]:
    """The programs that were judged in the evaluation `run` of `task` and not yet run on tests that the model wrote.

    Each text once, with the number of an answer that holds it.
    """
    of_task = (_done.run_id == run, _done.task_id.in_(select(_task.id).where(_task.key == task)))
    examined = select(_done.program_id).where(*of_task, _done.phase == "eval_written", _done.program_id.is_not(None))
    query = (
        select(func.min(_made.sample), schema.program.c.text)
        .join_from(schema.verification, schema.completion, _done.completion_id == _made.id)
        .join(schema.program, _done.program_id == schema.program.c.id)
        .where(*of_task, _done.phase == "eval", _done.verdict != "sandbox_error", _done.program_id.not_in(examined))
        .group_by(_done.program_id, schema.program.c.text)
        .order_by(_done.program_id)
    )
    return [(sample, text) for sample, text in connection.execute(query)]


def written_tests_passed(connection: Connection, run: str) -> dict[tuple[str, int | None], int]:
    """How many of the tests that the model wrote each program passes, by task and program's number."""
    query = (
        select(_task.key, _done.program_id, _done.tests_passed)
        .join_from(schema.verification, schema.task, _done.task_id == _task.id)
        .where(_done.run_id == run, _done.phase == "eval_written", _done.program_id.is_not(None))
    )
    return {(key, program): passed for key, program, passed in connection.execute(query)}


def _program(rows: list[Any]) -> Program:
    first = rows[0]
    tests = tuple((row.test, row.stdout) for row in rows if row.test is not None)
    return Program(first.verdict, first.tokens, first.program_id, first.mode != "nothing", tests)
