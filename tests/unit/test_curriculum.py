"""The order of tasks and the learning rate, which a step's number decides."""

from __future__ import annotations

from collections import Counter

import pytest
from agnostics.rollout.task_sampler import Curriculum, Question
from agnostics.train.lr_schedule import learning_rate_at
from agnostics.types.task import Task, Test


def _curriculum(size: int, batch: int, seed: int = 0) -> Curriculum:
    tasks = [Task(id=str(number), tests=(Test(input="", output=""),)) for number in range(size)]
    return Curriculum([Question(task, (1,)) for task in tasks], batch, seed)


def _ids(curriculum: Curriculum, steps: range) -> list[str]:
    return [question.task.id for step in steps for question in curriculum.at(step)]


def test_every_epoch_shows_every_task_once_in_an_order_of_its_own() -> None:
    curriculum = _curriculum(12, batch=4)
    first, second = _ids(curriculum, range(1, 4)), _ids(curriculum, range(4, 7))
    assert Counter(first) == Counter(second) == Counter(str(n) for n in range(12))
    assert first != second


def test_a_batch_may_straddle_two_epochs() -> None:
    assert sorted(_ids(_curriculum(10, batch=4), range(1, 6))) == sorted([str(n) for n in range(10)] * 2)


def test_the_order_depends_on_the_seed_alone() -> None:
    assert _ids(_curriculum(50, 8, seed=1), range(3, 5)) == _ids(_curriculum(50, 8, seed=1), range(3, 5))
    assert _ids(_curriculum(50, 8, seed=1), range(3, 5)) != _ids(_curriculum(50, 8, seed=2), range(3, 5))


def test_kinds_take_turns_so_that_a_short_run_meets_all_of_them() -> None:
    tests = (Test(input="", output=""),)
    families = ["common"] * 30 + ["rare"] * 3 + ["single"]
    tasks = [Task(id=str(number), family=family, tests=tests) for number, family in enumerate(families)]
    curriculum = Curriculum([Question(task, (1,)) for task in tasks], 3, 0)
    assert {question.task.family for question in curriculum.at(1)} == {"common", "rare", "single"}
    assert len(set(_ids(curriculum, range(1, 12)))) == 33


def test_learning_rate_rises_over_the_warm_up_and_falls_along_a_cosine() -> None:
    rates = [learning_rate_at(step, steps=100, warmup=10, peak=1.0) for step in range(1, 101)]
    assert rates[:10] == pytest.approx([n / 10 for n in range(1, 11)])
    assert rates[54] == pytest.approx(0.5, abs=0.02)
    assert rates == sorted(rates[:10]) + sorted(rates[10:], reverse=True)
    assert 0 < rates[-1] < 0.01


def test_learning_rate_starts_at_its_peak_without_warm_up() -> None:
    assert learning_rate_at(1, steps=3, warmup=0, peak=2e-4) == pytest.approx(2e-4)
