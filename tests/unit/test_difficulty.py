"""Online difficulty filtering: which prompts are sampled next, by the pass rates of those that were."""

from __future__ import annotations

import json
import random
import statistics
from collections import Counter
from collections.abc import Callable, Sequence

import pytest
from agnostics.rollout.difficulty import LOWEST_PROBABILITY, DifficultySampler
from agnostics.rollout.prompts import RenderedPrompt
from agnostics.rollout.schedule import TaskSampler
from agnostics.types.rollout import Rollout
from agnostics.types.task import Task, Test
from agnostics.types.verification import Verdict, Verification

TESTS = (Test(input="", output=""),)
GROUP = 8
PassRates = Callable[[Task], float]


def _prompts(size: int, families: Sequence[str | None] = ()) -> list[RenderedPrompt]:
    named = [*families, *[None] * (size - len(families))]
    tasks = [Task(id=str(number), family=family, tests=TESTS) for number, family in enumerate(named)]
    return [RenderedPrompt(task, task.id, (1,)) for task in tasks]


def _group(task: Task, verdicts: Sequence[Verdict]) -> list[Rollout]:
    verifications = [Verification(task.id, "lua", "x", verdict, (), None, "none", 1, 0.0) for verdict in verdicts]
    return [Rollout(task=task, sample=n, verification=one) for n, one in enumerate(verifications)]


def _sampled(task: Task, rate: float, draws: random.Random) -> list[Rollout]:
    """A group of a policy whose programs for the task pass at this rate."""
    passed = [draws.random() < rate for _ in range(GROUP)]
    return _group(task, [Verdict.ACCEPTED if one else Verdict.WRONG_ANSWER for one in passed])


def _run(sampler: TaskSampler, rates: PassRates, steps: range, ahead: int = 0) -> list[list[str]]:
    """The task ids of each step of a run that samples `ahead` steps ahead; seeds belong to steps."""
    ids = []
    for step in steps:
        for one in range(step, step + ahead + 1):
            sampler.at(one)
        prompts = sampler.at(step)
        draws = random.Random(step)
        sampler.observe([_sampled(prompt.task, rates(prompt.task), draws) for prompt in prompts])
        ids.append([prompt.task.id for prompt in prompts])
    return ids


def _mixed(task: Task) -> float:
    """Of every four tasks one is solved half the time, one always, and two never."""
    return {0: 0.5, 1: 1.0}.get(int(task.id) % 4, 0.0)


def test_without_rollouts_the_prompts_are_those_of_the_shuffled_order() -> None:
    prompts = _prompts(30, ["common"] * 20 + ["rare"] * 3)
    plain, sampler = TaskSampler(prompts, 4, 7), DifficultySampler(prompts, 4, 7)
    assert [sampler.at(step) for step in range(1, 20)] == [plain.at(step) for step in range(1, 20)]
    assert (plain.state(3), sampler.steps_per_epoch) == (None, 8)


def test_prompts_near_the_ends_are_drawn_less_often_and_none_is_dropped() -> None:
    sampler = DifficultySampler(_prompts(20), 4, 0)
    late = Counter(task for step in _run(sampler, _mixed, range(1, 401))[100:] for task in step)
    drawn = [sum(late[str(n)] for n in range(20) if n % 4 in kind) / len(kind) for kind in ((0,), (1,), (2, 3))]
    assert drawn[0] > 4 * drawn[1]
    assert drawn[0] > 4 * drawn[2]
    assert min(late.values()) > 0
    assert len(late) == 20


def test_more_groups_carry_a_signal_than_in_the_shuffled_order() -> None:
    def with_signal(sampler: TaskSampler) -> float:
        steps = _run(sampler, _mixed, range(1, 201))
        return sum(int(task) % 4 == 0 for step in steps for task in step) / (200 * 4)

    plain, filtered = (with_signal(kind(_prompts(40), 4, 0)) for kind in (TaskSampler, DifficultySampler))
    assert plain == pytest.approx(0.25, abs=0.01)
    assert filtered > 0.5


@pytest.mark.parametrize(("rate", "low", "high"), [(0.0, 0.0, 0.1), (1.0, 0.9, 1.0), (0.5, 0.3, 0.7)])
def test_the_estimate_follows_the_rollouts_of_the_task(rate: float, low: float, high: float) -> None:
    sampler, draws = DifficultySampler(_prompts(1), 1, 0), random.Random(0)
    (prompt,) = sampler.prompts
    assert (sampler.pass_rate(prompt.task), sampler.probability(prompt.task)) == (0.5, 1.0)
    for _ in range(10):
        sampler.observe([_sampled(prompt.task, rate, draws)])
    assert low <= sampler.pass_rate(prompt.task) <= high
    assert sampler.probability(prompt.task) >= LOWEST_PROBABILITY


def test_a_task_that_begins_to_be_solved_is_drawn_again() -> None:
    sampler, draws = DifficultySampler(_prompts(1), 1, 0), random.Random(0)
    task = sampler.prompts[0].task
    for rate, low, high in ((0.0, 0.0, 0.2), (0.5, 0.6, 1.0)):
        for _ in range(6):
            sampler.observe([_sampled(task, rate, draws)])
        assert low <= sampler.probability(task) <= high


def test_a_new_task_of_a_family_that_is_never_solved_is_expected_to_fail() -> None:
    sampler = DifficultySampler(_prompts(4, ["hard", "hard", "easy"]), 1, 0)
    hard, other, easy, single = (prompt.task for prompt in sampler.prompts)
    sampler.observe([_group(hard, [Verdict.WRONG_ANSWER] * GROUP)])
    assert sampler.pass_rate(other) == pytest.approx(0.1)  # (2 * 1/2 + 0) / (2 + 8)
    assert sampler.pass_rate(hard) == pytest.approx(0.02)  # (2 * 0.1 + 0) / (2 + 8)
    assert (sampler.pass_rate(easy), sampler.pass_rate(single)) == (0.5, 0.5)


def test_a_failed_sandbox_says_nothing() -> None:
    sampler = DifficultySampler(_prompts(1), 1, 0)
    task = sampler.prompts[0].task
    sampler.observe([_group(task, [Verdict.SANDBOX_ERROR] * GROUP)])
    assert sampler.pass_rate(task) == 0.5
    sampler.observe([_group(task, [Verdict.SANDBOX_ERROR, Verdict.ACCEPTED])])
    assert sampler.pass_rate(task) == pytest.approx(2 / 3)


@pytest.mark.parametrize("ahead", [0, 1, 3])
@pytest.mark.parametrize("killed", [1, 7, 20])
def test_a_run_that_resumes_from_the_written_state_samples_the_same_prompts(killed: int, ahead: int) -> None:
    prompts = _prompts(12, ["a"] * 4 + ["b"] * 4)
    whole = _run(DifficultySampler(prompts, 3, 5), _mixed, range(1, 41), ahead)
    first, second = DifficultySampler(prompts, 3, 5), DifficultySampler(prompts, 3, 5)
    before = _run(first, _mixed, range(1, killed + 1), ahead)
    written = json.dumps(first.state(killed))
    _run(first, _mixed, range(killed + 1, killed + 4), ahead)  # which the kill undoes
    second.restore(json.loads(written), killed)
    assert before + _run(second, _mixed, range(killed + 1, 41), ahead) == whole
    assert json.dumps(second.state(40)) != written


def test_a_run_whose_filter_is_turned_on_later_goes_on_in_its_order() -> None:
    prompts = _prompts(20)
    sampler = DifficultySampler(prompts, 4, 0)
    sampler.restore(TaskSampler(prompts, 4, 0).state(3), 3)
    assert sampler.at(4) == TaskSampler(prompts, 4, 0).at(4)


@pytest.mark.parametrize(("size", "most"), [(6, 1), (2, 2)])
def test_a_step_has_no_prompt_twice_as_long_as_there_are_others(size: int, most: int) -> None:
    sampler = DifficultySampler(_prompts(size), 4, 0)
    steps = _run(sampler, lambda task: 0.5 * (task.id == "0"), range(1, 50))
    assert max(max(Counter(step).values()) for step in steps) == most


def test_replacements_are_the_other_prompts_and_those_that_would_be_skipped_come_last() -> None:
    sampler = DifficultySampler(_prompts(40), 4, 0)
    _run(sampler, _mixed, range(1, 60))
    used = {prompt.task.id for prompt in sampler.at(60)}
    others = [prompt.task.id for prompt in sampler.replacements(60)]
    assert {*others} | used == {str(n) for n in range(40)}
    assert not {*others} & used
    assert others == [prompt.task.id for prompt in sampler.replacements(60)]
    places = {hit: [place for place, task in enumerate(others) if (int(task) % 4 == 0) is hit] for hit in (True, False)}
    assert statistics.fmean(places[True]) + 5 < statistics.fmean(places[False])
