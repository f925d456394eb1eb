"""Rewards with a partial signal in a real run: a function in a file, and what is verified for it."""

from __future__ import annotations

import os
import re
import tomllib
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

PAGE = (Path(__file__).parents[2] / "docs" / "training.md").read_text()
SMALL = [
    *("rollout.engine=transformers", "rollout.prompts_per_step=4", "rollout.group_size=6"),
    *("rollout.max_completion_tokens=64", "train.learning_rate=1e-3", "evaluation.tasks=16", "evaluation.samples=2"),
]


@pytest.mark.slow
def test_the_function_of_the_documentation_is_the_reward_and_sees_every_test(
    starter_model: Path, home: Any, tmp_path: Path
) -> None:
    ((name, source),) = re.findall(r"^`(\w+\.py)`\n\n```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    path = tmp_path / name
    path.write_text(source)
    settings = [*SMALL, f"reward={os.path.relpath(path)}:brief"]
    run = home.run("--model", str(starter_model), "--steps", "2", settings=settings)["run"]
    written = tomllib.loads((tmp_path / "runs" / run / "config.toml").read_text())
    assert written["reward"] == f"{path}:brief"
    columns = "reward, tests_passed, tests_total, tokens"
    stored = home.query(f"select {columns} from verifications where run = ? and phase = 'train'", run)
    assert len(stored) == 2 * 24
    for reward, passed, tests, tokens in stored:
        assert reward == pytest.approx(passed / tests - 0.001 * tokens)
    assert any(0 < passed < tests for _, passed, tests, _ in stored)
    verdicts = _verdicts(home, run)
    assert any(_skips(tests) for tests in verdicts["eval_before"])
    assert not any(_skips(tests) for tests in verdicts["train"])
    assert any("wrong_answer" in tests[: tests.index("accepted")] for tests in verdicts["train"] if "accepted" in tests)


def _verdicts(home: Any, run: str) -> dict[str, list[list[str]]]:
    """The verdicts on the tests of each completion, in order, by the phase of the run."""
    found = defaultdict[str, dict[int, list[str]]](lambda: defaultdict(list))
    columns = "phase, completion_id, verdict"
    for phase, completion, verdict in home.query(
        f"select {columns} from test_results where run = ? order by number", run
    ):
        found[phase][completion].append(verdict)
    return {phase: list(completions.values()) for phase, completions in found.items()}


def _skips(tests: list[str]) -> bool:
    """Whether tests of a program that ran were skipped."""
    return len({*tests} - {"skipped"}) > 0 and "skipped" in tests


@pytest.mark.parametrize(
    ("source", "name", "message"),
    [
        ("def brief(group): ...", "breif", "did you mean 'brief'?"),
        ("import nothing_here", "brief", "cannot be imported: ModuleNotFoundError: No module named 'nothing_here'"),
    ],
)
def test_a_file_without_the_reward_is_one_line_and_leaves_nothing(
    source: str, name: str, message: str, home: Any, tmp_path: Path
) -> None:
    path = tmp_path / "brief.py"
    path.write_text(source)
    answer = home.tried(settings=[f"reward={path}:{name}"])
    assert answer.returncode == 2
    (line,) = answer.stderr.splitlines()
    assert message in line
    assert {entry.name for entry in tmp_path.iterdir()} - {"__pycache__"} == {"brief.py"}


@pytest.mark.slow
def test_a_reward_that_fails_ends_the_run_with_its_line(starter_model: Path, home: Any, tmp_path: Path) -> None:
    path = tmp_path / "brief.py"
    path.write_text("def brief(group):\n    return [rollout.tokens for rollout in group]\n")
    settings = [*SMALL, "evaluation.tasks=0", f"reward={path}:brief"]
    answer = home.tried("--model", str(starter_model), "--steps", "1", settings=settings)
    assert answer.returncode == 2
    expected = f"{path}:brief, line 2, raised AttributeError: 'Rollout' object has no attribute 'tokens'"
    assert answer.stderr.splitlines()[-1] == f"agn: {expected}"
