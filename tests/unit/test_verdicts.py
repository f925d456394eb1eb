"""The precedence of verdicts, and the reward that follows from them."""

from __future__ import annotations

from itertools import combinations

import pytest
from agnostics.types.reward import Accepted
from agnostics.types.rollout import Rollout
from agnostics.types.task import Task, Test
from agnostics.types.verification import Verdict, Verification, overall

ORDER = [
    *("sandbox_error", "no_program", "compile_error", "memory_limit", "output_limit"),
    *("time_limit", "runtime_error", "wrong_answer", "accepted", "skipped"),
]


def rollout(verdict: Verdict) -> Rollout:
    verification = Verification("task", "lua", "program", verdict, (), None, "bubblewrap", 1, 1.0)
    return Rollout(task=Task(id="task", tests=(Test(input="", output=""),)), sample=0, verification=verification)


def test_verdicts_stand_in_the_order_of_the_contract() -> None:
    assert list(Verdict) == ORDER


@pytest.mark.parametrize(("first", "second"), list(combinations(ORDER, 2)))
def test_the_earlier_verdict_wins(first: str, second: str) -> None:
    assert overall([Verdict(second), Verdict(first)]) == first


def test_no_results_are_never_a_pass() -> None:
    with pytest.raises(ValueError, match="empty"):
        overall([])


def test_only_accepted_is_rewarded_and_a_failed_sandbox_says_nothing() -> None:
    rewards = Accepted().rewards([rollout(verdict) for verdict in Verdict])
    assert dict(zip(Verdict, rewards, strict=True)) == {
        verdict: None if verdict == "sandbox_error" else float(verdict == "accepted") for verdict in Verdict
    }
