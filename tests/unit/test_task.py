"""Tasks, limits and comparisons refuse what cannot be judged."""

from __future__ import annotations

import pytest
from agnostics.types.task import Checker, Comparison, LimitOverrides, Limits, Task, Test
from pydantic import ValidationError


def test_a_task_with_no_tests_is_an_error() -> None:
    with pytest.raises(ValidationError, match="tests"):
        Task(id="empty", tests=())


def test_an_unknown_key_is_an_error() -> None:
    with pytest.raises(ValidationError, match="tets"):
        Task.model_validate({"id": "x", "tests": [{"input": "", "output": ""}], "tets": []})


def test_a_task_limit_replaces_one_limit_and_leaves_the_others() -> None:
    assert LimitOverrides(run_s=1).over(Limits(memory_mb=64)) == Limits(run_s=1, memory_mb=64)


@pytest.mark.parametrize("limits", [{"run_s": 0}, {"memory_mb": -1}, {"processes": 0}, {"output_bytes": 0}])
def test_a_limit_that_limits_nothing_is_an_error(limits: dict[str, int]) -> None:
    with pytest.raises(ValidationError):
        LimitOverrides.model_validate(limits)


def test_a_checker_is_required_by_its_mode_and_by_no_other() -> None:
    checker = Checker(language="lua", program="os.exit(0)")
    assert Comparison(mode="checker", checker=checker).checker == checker
    with pytest.raises(ValidationError, match=r"compare\.checker"):
        Comparison(mode="checker")
    with pytest.raises(ValidationError, match=r"compare\.checker"):
        Comparison(mode="tokens", checker=checker)


def test_a_task_cannot_be_changed() -> None:
    task = Task(id="x", tests=(Test(input="", output=""),))
    with pytest.raises(ValidationError, match="frozen"):
        task.id = "y"
