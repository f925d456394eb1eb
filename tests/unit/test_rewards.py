"""Reward policies: the formulas of the built-in ones, and those in a file of the user's own."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from agnostics.algorithms.algorithm import ScoringContext
from agnostics.algorithms.grpo import GRPO
from agnostics.plugins.loader import PluginFilter
from agnostics.plugins.manager import PluginManager
from agnostics.plugins.python_file import absolute_python_name
from agnostics.train.config import load_config
from agnostics.types.errors import UsageError
from agnostics.types.rollout import FinishReason, Rollout
from agnostics.types.task import PromptFormat, Task, Test
from agnostics.types.verification import TestResult, Verdict, Verification, overall

PLUGINS = PluginManager((), PluginFilter(None, frozenset()))
PAGE = (Path(__file__).parents[2] / "docs" / "training.md").read_text()
RIGHT, WRONG, BROKEN = Verdict.ACCEPTED, Verdict.WRONG_ANSWER, Verdict.SANDBOX_ERROR
BLOCK = "```lua\nprint(1)\n```\n"


def _task(tests: int) -> Task:
    return Task(id="t", tests=tuple(Test(input=str(n), output=str(n)) for n in range(tests)))


def _rollout(
    *tests: Verdict,
    verdict: Verdict | None = None,
    text: str = BLOCK,
    finish_reason: FinishReason = "stop",
    task: Task | None = None,
) -> Rollout:
    """A rollout whose program got these verdicts on its tests, or `verdict` before any test."""
    results = tuple(TestResult(test) for test in tests)
    found = verdict or overall(tests)
    return Rollout(
        task=task or _task(len(tests) or 4),
        sample=0,
        text=text,
        num_tokens=10,
        finish_reason=finish_reason,
        verification=Verification("t", "lua", "x", found, results, None, "none", 1, 0.0),
    )


def _rewards(name: str, *rollouts: Rollout) -> list[float | None]:
    return list(PLUGINS.reward(name).rewards(rollouts))


def test_the_built_in_policies_are_found_by_name_and_say_whether_they_need_all_tests() -> None:
    needs = {name: policy.needs_all_tests for name, policy in PLUGINS.rewards().items()}
    assert needs == {"accepted": False, "tests_passed": True, "steps": False, "format": False}


def test_the_share_of_tests_counts_tests_after_a_failed_one() -> None:
    group = (_rollout(WRONG, RIGHT, RIGHT, RIGHT), _rollout(RIGHT, RIGHT), _rollout(verdict=Verdict.NO_PROGRAM))
    assert _rewards("tests_passed", *group) == [0.75, 1.0, 0.0]


def test_steps_rise_from_no_program_to_an_accepted_one() -> None:
    before = [_rollout(verdict=verdict) for verdict in (Verdict.NO_PROGRAM, Verdict.COMPILE_ERROR)]
    errors = [Verdict.MEMORY_LIMIT, Verdict.OUTPUT_LIMIT, Verdict.TIME_LIMIT, Verdict.RUNTIME_ERROR]
    group = [*before, *map(_rollout, errors), _rollout(RIGHT, WRONG), _rollout(RIGHT)]
    assert _rewards("steps", *group) == pytest.approx([0.0, 0.1, 0.2, 0.2, 0.2, 0.2, 0.3, 1.0])


@pytest.mark.parametrize(
    ("text", "finish_reason", "has_format"),
    [
        (BLOCK, "stop", True),
        (f"<think>{BLOCK}</think>Here it is:\n{BLOCK}", "stop", True),
        (BLOCK, "length", False),
        (BLOCK + BLOCK, "stop", False),
        ("print(1)", "stop", False),
    ],
)
def test_the_format_is_one_block_in_a_completion_that_ends(
    text: str, finish_reason: FinishReason, has_format: bool
) -> None:
    group = [_rollout(verdict, text=text, finish_reason=finish_reason) for verdict in (RIGHT, WRONG)]
    assert _rewards("format", *group) == pytest.approx([0.9 + 0.1 * has_format, 0.1 * has_format])


def test_a_program_that_continues_its_prompt_needs_no_block() -> None:
    prompt_format = PromptFormat(language="lua", tests="", stop=("\n",))
    task = _task(1).model_copy(update={"prompt_format": prompt_format})
    assert _rewards("format", _rollout(RIGHT, text=" x", task=task)) == [1.0]


@pytest.mark.parametrize("name", ["accepted", "tests_passed", "steps", "format"])
def test_every_verdict_has_a_reward_and_a_failed_sandbox_has_none(name: str) -> None:
    verdicts: list[Verdict] = [verdict for verdict in Verdict if verdict is not Verdict.SKIPPED]
    rewards = dict(zip(verdicts, _rewards(name, *(_rollout(verdict=verdict) for verdict in verdicts)), strict=True))
    assert rewards.pop(BROKEN) is None
    assert all(reward is not None and 0 <= reward <= 1 for reward in rewards.values())


@pytest.fixture
def file(tmp_path: Path) -> Callable[[str], Path]:
    """Writes a file of rewards."""

    def write(source: str) -> Path:
        path = tmp_path / "rewards.py"
        path.write_text(source)
        return path

    return write


def test_the_five_lines_of_the_documentation_are_a_reward_policy(file: Callable[[str], Path]) -> None:
    ((name, source),) = re.findall(r"^`(\w+\.py)`\n\n```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    command = re.search(rf"--set reward={re.escape(name)}:(\w+)", PAGE)
    assert len(source.splitlines()) == 5
    assert command
    policy = PLUGINS.reward(f"{file(source)}:{command[1]}")
    assert policy.needs_all_tests
    group = [_rollout(WRONG, RIGHT), _rollout(RIGHT, RIGHT), _rollout(verdict=BROKEN)]
    assert policy.rewards(group) == [pytest.approx(0.49), pytest.approx(0.99), None]
    scored = GRPO.score_group(group, ScoringContext(policy, 100, 100))
    assert [rollout.advantage for rollout in scored] == [pytest.approx(-1.0), pytest.approx(1.0), None]


def test_a_function_gets_only_rollouts_with_a_verdict(file: Callable[[str], Path]) -> None:
    path = file("def each(group):\n    return [len(group) for _ in group]\n")
    policy = PLUGINS.reward(f"{path}:each")
    assert policy.rewards([_rollout(RIGHT), _rollout(verdict=BROKEN), _rollout(WRONG)]) == [2.0, None, 2.0]
    assert policy.rewards([_rollout(verdict=BROKEN)]) == [None]


def test_a_class_says_itself_whether_it_needs_all_tests(file: Callable[[str], Path]) -> None:
    body = "def rewards(self, group):\n        return [None for _ in group]\n"
    source = f"from agnostics import RewardPolicy\n\n\nclass Mine(RewardPolicy):\n    name = 'mine'\n    {body}"
    path = file(f"{source}\n\nclass All(Mine):\n    needs_all_tests = True\n")
    mine, every = (PLUGINS.reward(f"{path}:{name}") for name in ("Mine", "All"))
    assert (mine.needs_all_tests, every.needs_all_tests) == (False, True)
    assert mine.rewards([_rollout(RIGHT)]) == [None]


@pytest.mark.parametrize(
    ("source", "name", "message"),
    [
        ("", "nowhere.py:f", "{folder}/nowhere.py: no such file (reward)"),
        ("def brief(group): ...", "rewards.py:bref", "unknown reward in {path}: 'bref'; did you mean 'brief'?"),
        ("", "rewards.py", "reward '{path}' names nothing in the file; as in: --set reward={path}:NAME"),
        ("import nothing_here", "rewards.py:f", "{path} cannot be imported: ModuleNotFoundError: No module named"),
        ("raise SystemExit(3)", "rewards.py:f", "{path} cannot be imported: SystemExit: 3"),
        ("def f(:", "rewards.py:f", "{path} cannot be imported: SyntaxError: invalid syntax"),
        ("f = 3", "rewards.py:f", "reward '{path}:f' is neither a function nor a subclass of RewardPolicy"),
        ("class F: ...", "rewards.py:F", "reward '{path}:F' is neither a function nor a subclass of RewardPolicy"),
        (
            "from agnostics import RewardPolicy\nclass F(RewardPolicy): ...",
            "rewards.py:F",
            "{path}:F raised TypeError: Can't instantiate abstract class F",
        ),
    ],
)
def test_a_file_without_the_policy_is_an_error_in_one_line(
    source: str, name: str, message: str, file: Callable[[str], Path]
) -> None:
    path = file(source)
    with pytest.raises(UsageError) as error:
        PLUGINS.reward(str(path.parent / name))
    assert str(error.value).startswith(message.format(path=path, folder=path.parent))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("return [1.0]", " gave 1 rewards for 2 rollouts"),
        ("return 3", " raised TypeError: 'int' object is not iterable"),
        (
            "\n    return [1 / (r.num_tokens - 10) for r in group]",
            ", line 3, raised ZeroDivisionError: division by zero",
        ),
        ("return ['good' for _ in group]", " gave the reward 'good'; a reward is a finite number or None"),
        ("return [float('nan') for _ in group]", " gave the reward nan; a reward is a finite number or None"),
    ],
)
def test_a_policy_that_fails_in_the_run_is_an_error_in_one_line(
    body: str, message: str, file: Callable[[str], Path]
) -> None:
    path = file(f"def f(group):\n    {body}\n")
    policy = PLUGINS.reward(f"{path}:f")
    with pytest.raises(UsageError) as error:
        policy.rewards([_rollout(RIGHT), _rollout(WRONG)])
    assert str(error.value) == f"{path}:f{message}"


def test_a_written_configuration_names_the_file_by_its_whole_path(
    file: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = file("")
    monkeypatch.chdir(path.parent)
    assert load_config(None, ["reward=rewards.py:f"], {}).reward == "rewards.py:f"
    assert absolute_python_name("rewards.py:f") == f"{path}:f"
    assert absolute_python_name("accepted") == "accepted"
