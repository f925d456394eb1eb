"""`examples/trl_grpo.py`: TRL's GRPOTrainer, rewarded by the verifier as a service."""

from __future__ import annotations

import json
import os
import re
import runpy
import subprocess
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from agnostics.plugins.manager import load_plugins
from agnostics_datasets.starter import FAMILIES, Starter
from verify_client import Served, served

EXAMPLE = Path(__file__).parents[2] / "examples" / "trl_grpo.py"
TESTS = [{"input": "41", "output": "42"}]
TOKEN = "correct-horse-battery-staple"


@pytest.fixture(scope="module")
def server() -> Iterator[Served]:
    with served(env={"AGN_VERIFY_TOKEN": TOKEN}) as running:
        yield running


@pytest.fixture
def example(server: Served, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What the example defines."""
    monkeypatch.setenv("AGN_VERIFY_URL", server.url)
    monkeypatch.setenv("AGN_VERIFY_TOKEN", TOKEN)
    return runpy.run_path(str(EXAMPLE))


def block(program: str) -> str:
    return f"So:\n```lua\n{program}\n```"


def test_the_rewards_of_a_step_are_those_of_its_completions_in_their_order(example: dict[str, Any]) -> None:
    texts = ["no program", block("print(42)"), block("print(41)"), block("error(42)"), block("print(7 * 6)")]
    for completions in (texts, [[{"role": "assistant", "content": text}] for text in texts]):
        rewards = example["passes_tests"](completions=completions, language=["lua"] * 5, tests=[TESTS] * 5, prompts=[])
        assert rewards == [0.0, 1.0, 0.0, 0.0, 1.0]


def test_a_program_on_which_the_sandbox_failed_has_no_reward(example: dict[str, Any]) -> None:
    replies: list[dict[str, Any]] = [{"id": 1, "verdict": "sandbox_error"}, {"id": 0, "verdict": "accepted"}]
    example["passes_tests"].__globals__["verified"] = lambda _: sorted(replies, key=lambda reply: reply["id"])
    assert example["passes_tests"](["a", "b"], ["lua"] * 2, [TESTS] * 2) == [1.0, None]


def test_a_request_that_is_refused_ends_the_training(example: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="unknown language"):
        example["passes_tests"]([block("print(42)")], ["luaa"], [TESTS])


@pytest.mark.slow
def test_a_model_is_trained_on_the_rewards_of_the_service(server: Served, starter_model: Path, tmp_path: Path) -> None:
    lua, tasks = load_plugins().language("lua"), tmp_path / "tasks.jsonl"
    with tasks.open("w") as file:
        for task in islice(Starter().tasks("train"), 2 * len(FAMILIES)):
            tests = [test.model_dump(include={"input", "output"}) for test in task.tests]
            prompt = [{"role": "user", "content": lua.prompt_for(task)}]
            file.write(json.dumps({"prompt": prompt, "language": "lua", "tests": tests}) + "\n")
    settings = ["--steps", "2", "--prompts", "2", "--group", "4", "--tokens", "100"]
    command = [sys.executable, str(EXAMPLE), "--tasks", str(tasks), "--model", str(starter_model), *settings]
    launched = {"RANK", "LOCAL_RANK", "WORLD_SIZE"}  # which DeepSpeed sets, and TRL takes for those of a launcher
    env = {name: value for name, value in os.environ.items() if name not in launched}
    # With more threads than free processors, each step waits for the slowest of them.
    env |= {"AGN_VERIFY_URL": server.url, "AGN_VERIFY_TOKEN": TOKEN, "OMP_NUM_THREADS": "1"}
    command += ["--output", str(tmp_path / "output")]
    answer = subprocess.run(command, capture_output=True, text=True, timeout=300, env=env)
    assert answer.returncode == 0, answer.stderr
    steps = re.findall(r"'rewards/passes_tests/mean': '?([\d.]+)", answer.stdout)
    assert len(steps) == 2
    assert any(float(step) > 0 for step in steps)
    metrics = server.get("/metrics", authorization=f"Bearer {TOKEN}")[1]
    assert sum(map(float, re.findall(r"^agnostics_verify_programs_total{.*} (\S+)$", metrics, re.MULTILINE))) >= 16
