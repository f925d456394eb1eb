"""The order of prompts and the learning rate, which a step's number decides."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pytest
from agnostics.rollout.prompts import RenderedPrompt
from agnostics.rollout.schedule import TaskSampler
from agnostics.train.lr_schedule import learning_rate_at
from agnostics.types.task import Task, Test

TESTS = (Test(input="", output=""),)


def _prompts(families: Sequence[str | None]) -> list[RenderedPrompt]:
    tasks = [Task(id=str(number), family=family, tests=TESTS) for number, family in enumerate(families)]
    return [RenderedPrompt(task, task.id, (1,)) for task in tasks]


def _task_sampler(size: int, prompts_per_step: int, seed: int = 0) -> TaskSampler:
    return TaskSampler(_prompts([None] * size), prompts_per_step, seed)


def _ids(task_sampler: TaskSampler, steps: range) -> list[str]:
    return [prompt.task.id for step in steps for prompt in task_sampler.at(step)]


def test_every_epoch_has_every_task_once_in_an_order_of_its_own() -> None:
    task_sampler = _task_sampler(12, prompts_per_step=4)
    first, second = _ids(task_sampler, range(1, 4)), _ids(task_sampler, range(4, 7))
    assert Counter(first) == Counter(second) == Counter(str(n) for n in range(12))
    assert first != second


def test_a_step_may_straddle_two_epochs() -> None:
    ids = _ids(_task_sampler(10, prompts_per_step=4), range(1, 6))
    assert sorted(ids) == sorted([str(n) for n in range(10)] * 2)


def test_the_order_depends_on_the_seed_alone() -> None:
    assert _ids(_task_sampler(50, 8, seed=1), range(3, 5)) == _ids(_task_sampler(50, 8, seed=1), range(3, 5))
    assert _ids(_task_sampler(50, 8, seed=1), range(3, 5)) != _ids(_task_sampler(50, 8, seed=2), range(3, 5))


def test_kinds_take_turns_so_that_a_short_run_has_all_of_them() -> None:
    task_sampler = TaskSampler(_prompts(["common"] * 30 + ["rare"] * 3 + ["single"]), 3, 0)
    assert {prompt.task.family for prompt in task_sampler.at(1)} == {"common", "rare", "single"}
    assert len(set(_ids(task_sampler, range(1, 12)))) == 33


@pytest.mark.parametrize("step", [1, 2, 7])
def test_replacements_are_the_other_prompts_in_an_order_of_the_step(step: int) -> None:
    def replacements(seed: int = 0) -> list[str]:
        return [prompt.task.id for prompt in _task_sampler(20, 4, seed).replacements(step)]

    used = {prompt.task.id for prompt in _task_sampler(20, 4).at(step)}
    assert {*replacements()} | used == {str(number) for number in range(20)}
    assert not {*replacements()} & used
    assert replacements() == replacements()
    assert replacements() != replacements(seed=1)


def test_learning_rate_rises_over_the_warm_up_and_falls_along_a_cosine() -> None:
    rates = [learning_rate_at(step, steps=100, warmup=10, peak=1.0) for step in range(1, 101)]
    assert rates[:10] == pytest.approx([n / 10 for n in range(1, 11)])
    assert rates[54] == pytest.approx(0.5, abs=0.02)
    assert rates == sorted(rates[:10]) + sorted(rates[10:], reverse=True)
    assert 0 < rates[-1] < 0.01


def test_learning_rate_starts_at_its_peak_without_warm_up() -> None:
    assert learning_rate_at(1, steps=3, warmup=0, peak=2e-4) == pytest.approx(2e-4)
