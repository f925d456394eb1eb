"""What a run checks before it trains."""

from __future__ import annotations

from dataclasses import replace

import pytest
from agnostics.algorithms.cwm import CWM
from agnostics.environments.answer import ANSWER
from agnostics.train.config import RolloutConfig, RunConfig
from agnostics.train.setup import check_checkers, unfilled_batch
from agnostics.types.errors import UsageError
from agnostics.types.task import Checker, Comparison, Task, Test

TEST = (Test(input="1", output="1"),)
CHECKED = Task(id="a", tests=TEST, compare=Comparison(mode="checker", checker=Checker(language="cpp", program="")))


def test_a_checker_in_a_language_that_is_not_installed_is_named_before_training() -> None:
    check_checkers([Task(id="b", tests=TEST), CHECKED], {"cpp", "lua"})
    with pytest.raises(UsageError, match="task 'a': its checker is in the language 'cpp', which is not installed"):
        check_checkers([Task(id="b", tests=TEST), CHECKED], {"lua"})


@pytest.mark.parametrize(
    ("max_off_policy_steps", "steps", "learns_nothing"), [(8, 2, True), (8, 3, False), (0, 2, False)]
)
def test_a_run_that_cannot_fill_one_batch_is_refused(
    max_off_policy_steps: int, steps: int, learns_nothing: bool
) -> None:
    rollout = RolloutConfig(prompts_per_step=2, group_size=4, max_completion_tokens=100)
    algorithm = replace(CWM, batch_tokens=2000, max_off_policy_steps=max_off_policy_steps)
    error = unfilled_batch(RunConfig(rollout=rollout), algorithm, ANSWER.limits, steps)
    assert (error is not None) is learns_nothing
    if error:
        assert str(error).startswith("train.batch_tokens = 2000 is more than the 1600 tokens that 2 steps can sample")
