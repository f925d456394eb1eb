"""What a run checks before it trains."""

from __future__ import annotations

import pytest
from agnostics.train.setup import check_checkers
from agnostics.types.errors import UsageError
from agnostics.types.task import Checker, Comparison, Task, Test

TEST = (Test(input="1", output="1"),)
CHECKED = Task(id="a", tests=TEST, compare=Comparison(mode="checker", checker=Checker(language="cpp", program="")))


def test_a_checker_in_a_language_that_is_not_installed_is_named_before_training() -> None:
    check_checkers([Task(id="b", tests=TEST), CHECKED], {"cpp", "lua"})
    with pytest.raises(UsageError, match="task 'a': its checker is in the language 'cpp', which is not installed"):
        check_checkers([Task(id="b", tests=TEST), CHECKED], {"lua"})
