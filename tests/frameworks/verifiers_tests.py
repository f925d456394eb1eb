"""Our environment in `verifiers`, run by `tests/integration/test_frameworks.py` where verifiers is installed."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import verifiers.v1 as vf
from agnostics_verifiers import load_environment
from chat_server import ChatServer
from verifiers.v1.cli.eval.runner import run_eval
from verifiers.v1.configs.cli.eval import EvalConfig

TASKS = (
    {"id": "sum", "statement": "Add the two numbers.", "tests": [{"input": "1 2\n", "output": "3\n"}]},
    {"id": "product", "statement": "Multiply them.", "tests": [{"input": "3 4\n", "output": "12\n"}]},
)
ANSWERS = {
    "python": "```python\na, b = map(int, input().split())\nprint(a + b)\n```",
    "lua": "```lua\nlocal a, b = io.read('n', 'n')\nprint(a + b)\n```",
}
"""Right programs for the first task, wrong ones for the second."""


@pytest.fixture
def dataset(tmp_path: Path) -> str:
    path = tmp_path / "tasks.jsonl"
    path.write_text("".join(json.dumps(task) + "\n" for task in TASKS))
    return f"jsonl:{path}"


@pytest.fixture
def evaluate(tmp_path: Path, dataset: str) -> Callable[..., list[vf.Episode]]:
    """Runs verifiers' evaluation of a scripted model."""

    def call(reply: Callable[[str], Any], language: str, sandbox: str = "bubblewrap", **agent: Any) -> list[vf.Episode]:
        taskset = {"id": "agnostics-verifiers", "dataset": dataset, "split": "train", "language": language}
        with closing(ChatServer(reply)) as server:
            config = EvalConfig.model_validate(
                {
                    "env": {"taskset": taskset, "sandbox": sandbox, "agent": agent},
                    "model": "scripted",
                    "client": {"type": "eval", "base_url": server.url, "api_key_var": "NO_KEY"},
                    "output_dir": tmp_path / "outputs",
                    "rich": None,
                    "push": False,
                }
            )
            return asyncio.run(run_eval(config))

    return call


def rewards(episodes: list[vf.Episode]) -> dict[str, float]:
    """The reward of each task. Whoever has an error has none."""
    assert [error for episode in episodes for error in (*episode.errors, *episode.traces[0].errors)] == []
    return {episode.traces[0].task.data.id: episode.traces[0].reward for episode in episodes}


def bash(command: str) -> dict[str, Any]:
    """The message of a model that calls the tool."""
    function = {"name": "bash", "arguments": json.dumps({"command": command})}
    return {"content": None, "tool_calls": [{"id": "call", "type": "function", "function": function}]}


@pytest.mark.parametrize(("language", "sandbox"), [("python", "bubblewrap"), ("lua", "bubblewrap"), ("lua", "docker")])
def test_a_right_program_is_rewarded_and_a_wrong_one_is_not(
    evaluate: Callable[..., list[vf.Episode]], language: str, sandbox: str
) -> None:
    episodes = evaluate(lambda _: ANSWERS[language], language, sandbox)
    assert rewards(episodes) == {"sum": 1.0, "product": 0.0}
    assert {episode.traces[0].info["verdict"] for episode in episodes} == {"accepted", "wrong_answer"}


def test_a_model_tries_its_program_in_a_session_of_its_own_before_it_answers(
    evaluate: Callable[..., list[vf.Episode]],
) -> None:
    write = "test ! -e answer.py && echo 'print(sum(map(int, input().split())))' > answer.py && echo written"
    script = {"written": bash("echo 20 22 | python3 answer.py"), "42": ANSWERS["python"]}
    episodes = evaluate(lambda question: script.get(question) or bash(write), "python")
    assert rewards(episodes) == {"sum": 1.0, "product": 0.0}
    for episode in episodes:
        assert [m.content for m in episode.traces[0].branches[-1].messages if m.role == "tool"] == ["written", "42"]
        assert episode.traces[0].agent.runtime.id == "agnostics/bubblewrap"


def test_the_hidden_tests_are_in_no_message(evaluate: Callable[..., list[vf.Episode]]) -> None:
    seen = list[str]()

    def reply(question: str) -> str:
        seen.append(question)
        return "I do not know."

    evaluate(reply, "lua")
    assert len(seen) == 2
    assert not any("12" in question or "3\n" in question for question in seen)


@pytest.mark.parametrize("arguments", ["[1", '{"command": "a\\u0000b"}', '{"command": "a\\ud800b"}', '{"command": 1}'])
def test_calls_that_make_no_sense_and_endless_ones_end_without_reward(
    evaluate: Callable[..., list[vf.Episode]], arguments: str
) -> None:
    odd = bash("true")
    odd["tool_calls"][0]["function"]["arguments"] = arguments
    episodes = evaluate(lambda question: odd if question.startswith("Use") else bash("exit 3"), "lua", max_turns=4)
    assert rewards(episodes) == {"sum": 0.0, "product": 0.0}
    for episode in episodes:
        outputs = [m.content for m in episode.traces[0].branches[-1].messages if m.role == "tool"]
        assert "the only tool is bash" in outputs[0]
        assert outputs[1:] == ["[exit status 3]"] * (len(outputs) - 1)
        assert episode.traces[0].stop_condition == "max_turns"


def test_an_episode_whose_time_is_up_while_its_session_opens_leaves_none(dataset: str) -> None:
    async def sessions_after_an_episode() -> int:
        environment = load_environment(language="lua", dataset=dataset, split="train", sandbox="bubblewrap")
        await environment.start()
        try:
            for _ in range(2):  # the warm slot is in use, and another one takes longer than the episode has
                environment._pool.open()
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.001):
                    await environment.run(next(iter(environment.taskset)), None)
            await asyncio.sleep(1)
            return len(environment._pool._sessions)
        finally:
            await environment.stop()

    assert asyncio.run(sessions_after_an_episode()) == 2


def test_the_environment_is_loaded_from_python_with_the_same_settings(dataset: str) -> None:
    environment = load_environment(language="lua", dataset=dataset, split="train", sandbox="bubblewrap")
    assert isinstance(environment, vf.Env)
    assert [task.key for task in environment.taskset] == ["sum", "product"]
    assert environment.config.sandbox == "bubblewrap"
