"""The contents of the views of a run."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from agnostics.store import CompletionRecord, Store
from agnostics.store.database import parse_url, reading
from agnostics.store.user_sql import run_sql
from agnostics.types.language import Language
from agnostics.types.verification import TestResult, Verdict
from msgspec.structs import replace
from sqlalchemy import text

ACCEPTED, WRONG, OURS = Verdict.ACCEPTED, Verdict.WRONG_ANSWER, Verdict.SANDBOX_ERROR
STORY = [
    (0, "eval_before", "a", ACCEPTED, None),
    (1, "train", "a", WRONG, 0.0),
    (1, "train", "a", OURS, None),
    (1, "train", "b", WRONG, 0.1),
    (1, "train", "b", WRONG, 0.1),
    (2, "train", "a", WRONG, 0.0),
    (2, "train", "a", ACCEPTED, 1.0),
    (2, "train", "a", ACCEPTED, 1.0),
    (3, "train", "a", ACCEPTED, 1.0),
]


@pytest.fixture
def filled(database: str, lua: Language, record: Callable[..., CompletionRecord]) -> str:
    """The URL of a database with two runs of the same story."""
    with Store.open(database) as store:
        for _ in range(2):
            run = store.start_run(kind="train", config={}, language=lua, model="m", dataset="d", seed=0)
            with store.recorder(run) as recorder:
                for number, (step, phase, task, verdict, reward) in enumerate(STORY):
                    program = f"print({number % 2})"
                    recorder.completion(
                        record(verdict, step=step, phase=phase, task=task, reward=reward, program=program)
                    )
    return database


def _ask(url: str, sql: str) -> list[tuple[object, ...]]:
    with Store.open(url) as store, reading(store.engine) as connection:
        return [tuple(row) for row in connection.execute(text(sql))]


def test_groups_have_reward_statistics_and_a_zero_variance_one_has_no_deviation(filled: str) -> None:
    columns = "phase, step, task, family, programs, accepted, distinct_programs, mean_reward, reward_std, mean_tokens"
    last = "(select max(id) from run)"
    found = _ask(filled, f"select {columns} from groups where run = {last} order by step, task, phase")
    assert [row[:7] for row in found] == [
        ("eval_before", 0, "a", "sum", 1, 1, 1),
        ("train", 1, "a", "sum", 1, 0, 1),
        ("train", 1, "b", "sum", 2, 0, 2),
        ("train", 2, "a", "sum", 3, 2, 2),
        ("train", 3, "a", "sum", 1, 1, 1),
    ]
    assert [row[7] for row in found] == [None, 0.0, pytest.approx(0.1), pytest.approx(2 / 3), 1.0]
    assert [row[8] for row in found] == [None, 0.0, 0.0, pytest.approx((2 / 9) ** 0.5), 0.0]
    assert {row[9] for row in found} == {9.0}


def test_a_task_is_solved_first_in_training_and_every_attempt_until_then_counts(filled: str) -> None:
    found = _ask(filled, "select task, step, attempts, completion_id from first_solved order by completion_id")
    assert [row[:3] for row in found] == [("a", 2, 3)] * 2
    firsts = "select min(completion_id) from verifications where phase = 'train' and verdict = 'accepted' group by run"
    assert sorted(row[3:] for row in found) == sorted(_ask(filled, firsts))


def test_a_long_output_is_read_as_text_by_a_query_in_sql(
    database: str, lua: Language, record: Callable[..., CompletionRecord]
) -> None:
    long = "é1 2 3\n" * 500
    plain = record()
    outcome = replace(plain.verification, tests=(TestResult(WRONG, stdout=long, stderr="short"),))
    with Store.open(database) as store:
        run = store.start_run(kind="train", config={}, language=lua, model="m", dataset="d", seed=0)
        with store.recorder(run) as recorder:
            recorder.completion(replace(plain, verification=outcome))
    sql = "select stdout, stderr, verdict from test_results"
    with run_sql(parse_url(database), sql, seconds=20) as result:
        assert [tuple(row) for row in result.rows] == [(long, "short", "wrong_answer")]
    if database.startswith("sqlite"):
        sql = "select typeof(stdout), length(stdout) < 100, decompress(stdout) from test_result"
        with run_sql(parse_url(database), sql, seconds=20) as result:
            assert [tuple(row) for row in result.rows] == [("blob", 1, long)]
