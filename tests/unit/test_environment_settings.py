"""Environments by their names, files and options."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from agnostics.environments.agentic_code import AgenticCode
from agnostics.environments.answer import ANSWER
from agnostics.environments.code_feedback import CodeFeedback
from agnostics.environments.environment import Environment, EpisodeLimits
from agnostics.environments.math import MathWithPython
from agnostics.environments.public_tests import with_public_tests, with_shown_tests
from agnostics.environments.settings import (
    EnvironmentOptions,
    EpisodeSettings,
    configured_environment,
    max_length,
    max_sampled_tokens,
)
from agnostics.math import packages
from agnostics.plugins.manager import load_plugins
from agnostics.types.errors import MissingRequirement, UsageError
from agnostics.types.language import Language
from agnostics.types.task import Task, Test


def test_an_environment_has_the_options_that_are_set() -> None:
    assert configured_environment(CodeFeedback(), {"feedback": "none"}) == CodeFeedback(feedback="none")
    assert configured_environment(ANSWER, {}) is ANSWER


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"feedbak": "none"}, "feedback"),
        (
            {"feedback": "all"},
            "environment_options.feedback: Input should be 'difference', 'verdict' or",
        ),
        ({"public_tests": 0}, "there must be one test at least"),
        ({"public_tests": "3"}, "environment_options.public_tests: Input should be a valid integer, got '3'"),
    ],
)
def test_an_option_that_does_not_fit_is_an_error_in_one_line(options: dict[str, int | str], message: str) -> None:
    with pytest.raises(UsageError) as error:
        configured_environment(CodeFeedback(), options)  # type: ignore[arg-type]
    assert message in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("environment", "options", "message"),
    [
        (AgenticCode(), {"command_s": 0.0}, "command_s = 0.0: "),
        (AgenticCode(), {"command_s": float("nan")}, "command_s = nan: "),
        (MathWithPython(), {"command_s": 601.0}, "command_s = 601.0: a call has more than 0 and at most 600 seconds"),
        (AgenticCode(), {"public_tests": 0}, "there must be one test at least"),
    ],
)
def test_an_option_that_would_fail_in_an_episode_is_refused_before_a_run(
    environment: Environment[Any], options: EnvironmentOptions, message: str
) -> None:
    with pytest.raises(UsageError) as error:
        configured_environment(environment, options)
    assert message in str(error.value)


def test_limits_are_the_environments_those_of_the_settings_and_the_models_context() -> None:
    limits = EpisodeSettings(max_turns=5).within(CodeFeedback().limits, 4096)
    assert (limits.max_turns, limits.max_observation_tokens, limits.max_context_tokens) == (5, 32768, 4096)
    assert EpisodeSettings(max_context_tokens=100).within(ANSWER.limits, 4096).max_context_tokens == 100


def test_the_length_of_an_episode_is_bounded_by_its_turns_and_its_context() -> None:
    answer = EpisodeSettings().within(ANSWER.limits, 4096)
    assert (max_length(answer, 100, 50), max_sampled_tokens(answer, 50)) == (150, 50)
    limits = EpisodeLimits(max_turns=3, max_observation_tokens=10, max_context_tokens=300)
    assert (max_length(limits, 100, 50), max_sampled_tokens(limits, 50)) == (270, 150)
    assert (max_length(limits, 100, 500), max_sampled_tokens(limits, 500)) == (300, 300)


def test_an_environment_is_found_by_its_name_or_in_a_file(tmp_path: Path) -> None:
    plugins = load_plugins()
    assert plugins.environment("answer") is ANSWER
    with pytest.raises(UsageError, match="code-feedback"):
        plugins.environment("code-fedback")
    path = tmp_path / "own.py"
    path.write_text("from agnostics.environments.answer import Answer\nclass Own(Answer): ...\nclass Other: ...\n")
    assert plugins.environment(f"{path}:Own").limits == ANSWER.limits
    with pytest.raises(UsageError, match="is no subclass of Environment"):
        plugins.environment(f"{path}:Other")
    with pytest.raises(UsageError, match="Own"):
        plugins.environment(f"{path}:Owm")


@pytest.mark.parametrize(("tests", "count", "public"), [(6, 3, 3), (6, 9, 3), (2, 3, 1), (1, 3, 1), (10, 1, 1)])
def test_at_most_half_of_the_tests_are_public(tests: int, count: int, public: int) -> None:
    task = Task(id="t", tests=tuple(Test(input=str(n), output="") for n in range(tests)))
    assert with_public_tests(task, count).tests == task.tests[:public]


@pytest.mark.parametrize(("tests", "shown"), [(1, 0), (2, 1), (6, 3)])
def test_the_only_test_of_a_task_is_not_shown(tests: int, shown: int) -> None:
    task = Task(id="t", tests=tuple(Test(input=str(n), output="") for n in range(tests)))
    assert with_shown_tests(task, 3).tests == task.tests[:shown]
    lua = Language(name="lua", prompt="", filename="a.lua", execute="lua a.lua")
    assert (f"holds {shown} of the tests" in AgenticCode().message(task, lua)) == (shown > 0)


def test_mathematics_without_its_packages_is_refused_before_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packages, "find_spec", lambda name: None if name == "sympy" else name)
    with pytest.raises(MissingRequirement, match="sympy"):
        load_plugins().environment("math-python").check_requirements()
    ANSWER.check_requirements()
