"""The comparison of two runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from agnostics.evaluate.comparison import compare_runs
from agnostics.store import CompletionRecord, Store
from agnostics.store.database import reading
from agnostics.types.errors import UsageError
from agnostics.types.language import Language
from agnostics.types.verification import Verdict
from sqlalchemy import Connection

ACCEPTED, WRONG = Verdict.ACCEPTED, Verdict.WRONG_ANSWER
Make = Callable[..., str]


@pytest.fixture
def opened(database: str, lua: Language, record: Callable[..., CompletionRecord]) -> Iterator[tuple[Make, Connection]]:
    """Makes runs of what is said as (phase, step, task, verdict); and a connection to ask."""
    with Store.open(database) as store:

        def make(*outcomes: tuple[str, int, str, Verdict], kind: Any = "train", **config: Any) -> str:
            run = store.start_run(kind=kind, config=config, language=lua, model="m", dataset="d", seed=1)
            with store.recorder(run) as recorder:
                for sample, (phase, step, task, verdict) in enumerate(outcomes):
                    recorder.completion(record(verdict, phase=phase, step=step, task=task, sample=sample))
            return run

        with reading(store.engine) as connection:
            connection.rollback()
            yield make, connection


Opened = tuple[Make, Connection]


def test_two_trainings_differ_in_settings_tasks_verdicts_and_steps(opened: Opened) -> None:
    make, connection = opened
    one = make(
        *[("eval_before", 0, "a", WRONG), ("train", 1, "t", WRONG), ("train", 2, "t", ACCEPTED)],
        *[("eval_after", 2, task, verdict) for task, verdict in (("a", ACCEPTED), ("b", WRONG), ("c", WRONG))],
        train={"rate": 1, "clip": 0.2},
    )
    other = make(
        *[("eval_before", 0, "a", WRONG), ("train", 1, "t", ACCEPTED)],
        *[("eval_after", 1, task, verdict) for task, verdict in (("a", WRONG), ("b", ACCEPTED), ("d", WRONG))],
        train={"rate": 2, "clip": 0.2, "kl_coef": 0.1},
    )
    found = compare_runs(connection, one, other)
    assert found.settings == {"train.rate": (1, 2), "train.kl_coef": (None, 0.1)}
    before, after = found.measures
    assert (before.difference.mean, before.won, before.lost) == (0, (), ())
    assert (after.difference.tasks, after.difference.mean, after.won, after.lost) == (2, 0, ("b",), ("a",))
    assert after.scores[0].pass_at_1 == pytest.approx(1 / 3)
    assert found.verdicts["train"] == {"accepted": (0.5, 1.0), "wrong_answer": (0.5, 0.0)}
    assert [(a.name, a.rate, b.rate) for a, b in found.curve] == [(1, 0.0, 1.0)]
    assert found.held_out == {0: (0.0, 0.0)}


def test_an_evaluation_is_compared_with_the_end_of_a_training(opened: Opened) -> None:
    make, connection = opened
    training = make(("eval_before", 0, "a", WRONG), ("train", 1, "t", WRONG), ("eval_after", 1, "a", ACCEPTED))
    evaluation = make(("eval", 0, "a", WRONG), ("eval", 0, "a", ACCEPTED), kind="eval")
    (measure,) = compare_runs(connection, evaluation, training).measures
    assert (measure.difference.run, measure.difference.mean, measure.difference.tasks) == (training, 0.5, 1)
    assert (measure.won, measure.lost) == ((), ())


def test_runs_without_common_tasks_or_steps_are_an_error_in_one_line(opened: Opened) -> None:
    make, connection = opened
    one, other = make(("train", 1, "t", WRONG)), make(("eval", 0, "a", WRONG), kind="eval")
    with pytest.raises(UsageError, match=r"^runs \S+ and \S+ share no evaluated task and no train"):
        compare_runs(connection, one, other)
