"""Queries on runs: summaries, scores, curves, verdicts and families of tasks."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from agnostics.evaluate.report import training_gain
from agnostics.rollout.pass_rate import pass_rate
from agnostics.store import CompletionRecord, Store
from agnostics.store.database import reading
from agnostics.store.queries import runs as queries
from agnostics.types.errors import UsageError
from agnostics.types.language import Language
from agnostics.types.rollout import Rollout
from agnostics.types.verification import Verdict
from agnostics.util.statistics import bootstrap_interval
from sqlalchemy import Connection, text

ACCEPTED, WRONG, OURS = Verdict.ACCEPTED, Verdict.WRONG_ANSWER, Verdict.SANDBOX_ERROR


@pytest.fixture
def runs(
    database: str, lua: Language, record: Callable[..., CompletionRecord]
) -> Iterator[tuple[list[str], Connection]]:
    """Two runs, the second with completions; their ids and a connection."""
    outcomes = [
        *[(0, "eval_before", "b", "sort", verdict) for verdict in (WRONG, WRONG, WRONG, ACCEPTED)],
        *[(0, "eval_before", "a", "sum", verdict) for verdict in (WRONG, ACCEPTED, OURS, OURS)],
        *[(1, "train", "c", "sum", verdict) for verdict in (WRONG, WRONG, ACCEPTED, OURS)],
        *[(2, "train", "c", "sum", verdict) for verdict in (ACCEPTED, ACCEPTED)],
        *[(2, "eval_after", "b", "sort", verdict) for verdict in (WRONG, ACCEPTED)],
        *[(2, "eval_after", "a", "sum", verdict) for verdict in (ACCEPTED, ACCEPTED)],
    ]
    with Store.open(database) as store:
        ids = [
            store.start_run(kind="train", config={}, language=lua, model=model, dataset="starter", seed=5)
            for model in ("first", "second")
        ]
        with store.recorder(ids[1]) as recorder:
            for sample, (step, phase, task, family, verdict) in enumerate(outcomes):
                recorder.completion(record(verdict, step=step, phase=phase, task=task, family=family, sample=sample))
        store.finish_run(ids[1], "finished", {})
        with reading(store.engine) as connection:
            yield ids, connection


Runs = tuple[list[str], Connection]


def test_runs_are_listed_newest_first_with_pass_at_1_as_the_mean_over_tasks(runs: Runs) -> None:
    ids, connection = runs
    newest, oldest = queries.list_runs(connection)
    assert (newest.run, oldest.run) == (ids[1], ids[0])
    assert (newest.status, newest.model, newest.language, newest.steps, newest.completions) == (
        "finished",
        "second",
        "lua",
        2,
        18,
    )
    assert newest.pass_at_1 == {"eval_before": (0.25 + 0.5) / 2, "eval_after": (0.5 + 1.0) / 2}
    assert (oldest.status, oldest.steps, oldest.completions, oldest.pass_at_1) == ("running", 0, 0, {})
    assert newest.as_dict()["pass_at_1_after"] == 0.75
    assert newest.as_dict()["started_at"].endswith("Z")


def test_intervals_are_those_that_the_trainer_reports(runs: Runs) -> None:
    (_, run), connection = runs
    before, after = queries.scores(connection, run, 5)
    assert before.interval == bootstrap_interval([0.25, 0.5], seed=5)
    assert (after.pass_at_1, after.tasks) == (0.75, 2)


def test_intervals_are_resampled_by_family_as_the_trainer_does(
    database: str, lua: Language, record: Callable[..., CompletionRecord]
) -> None:
    tasks = {name: ("sum", ACCEPTED) if name in "abc" else ("sort", WRONG) for name in "abcdef"}
    records = [
        record(verdict, step=0, phase="eval_before", task=name, family=of) for name, (of, verdict) in tasks.items()
    ]
    groups = [[Rollout(task=one.task, sample=0, verification=one.verification)] for one in records]
    with Store.open(database) as store:
        run = store.start_run(kind="train", config={}, language=lua, model="m", dataset="d", seed=5)
        with store.recorder(run) as recorder:
            for one in records:
                recorder.completion(one)
        with reading(store.engine) as connection:
            (stored,) = queries.scores(connection, run, 5)
    rate = pass_rate(groups, 5)
    assert rate is not None
    assert stored.interval == rate.interval == (0.0, 1.0)
    assert bootstrap_interval([1.0] * 3 + [0.0] * 3, seed=5) != (0.0, 1.0)


def test_the_gain_of_a_training_run_is_paired_by_task(runs: Runs) -> None:
    ids, connection = runs
    gain = training_gain(connection, ids[1])
    assert gain is not None
    assert (gain.mean, gain.tasks) == (((0.5 - 0.25) + (1.0 - 0.5)) / 2, 2)
    assert (gain.low, gain.high) == (0.25, 0.5)
    assert training_gain(connection, ids[0]) is None


def test_the_curve_and_the_verdicts_count_every_program(runs: Runs) -> None:
    (_, run), connection = runs
    assert [(count.name, count.programs, count.accepted) for count in queries.curve(connection, run)] == [
        (1, 3, 1),
        (2, 2, 2),
    ]
    assert sum(programs for _, _, programs in queries.verdicts(connection, run)) == 18
    assert ("eval_before", "sandbox_error", 2) in queries.verdicts(connection, run)


def test_families_are_ordered_by_how_hard_they_were_in_the_end(runs: Runs) -> None:
    (_, run), connection = runs
    phase, families = queries.family_counts(connection, run)
    assert phase == "eval_after"
    assert [(family.name, family.rate) for family in families] == [("sort", 0.5), ("sum", 1.0)]


def test_a_run_is_found_by_its_beginning_or_as_the_last(runs: Runs) -> None:
    ids, connection = runs
    assert queries.find_run(connection, "last") == ids[1]
    assert queries.find_run(connection, ids[0]) == ids[0]
    assert queries.find_run(connection, ids[0][:-1]) == ids[0]
    with pytest.raises(UsageError, match="2 runs begin with '2'"):
        queries.find_run(connection, "2")
    with pytest.raises(UsageError, match=f"unknown run '{ids[0]}x'; did you mean"):
        queries.find_run(connection, ids[0] + "x")
    with pytest.raises(UsageError, match="unknown run ''"):
        queries.find_run(connection, "")


def test_the_pass_rates_view_leaves_out_sandbox_errors(runs: Runs) -> None:
    _, connection = runs
    rates = text("select task, programs, accepted, pass_rate from pass_rates where phase = 'eval_before' order by task")
    assert [tuple(row) for row in connection.execute(rates)] == [("a", 2, 1, 0.5), ("b", 4, 1, 0.25)]
