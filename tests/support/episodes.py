"""Episodes of one task, played with what a chat server says and with programs in Lua."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from agnostics.environments.environment import Environment
from agnostics.inference.engine import SamplingParams
from agnostics.inference.openai_client import Endpoint
from agnostics.rollout.episode_loop import EpisodeLoop
from agnostics.rollout.prompts import ChatSettings, prompt_of
from agnostics.rollout.rollout_verifier import RolloutVerifier
from agnostics.rollout.sources import EndpointSource, SampleRequest
from agnostics.types.language import Language
from agnostics.types.rollout import Rollout
from agnostics.types.task import LimitOverrides, Task, Test
from agnostics.verify import Verifier
from chat_server import ChatServer

PARAMS = SamplingParams(temperature=1.0, max_completion_tokens=64)
HIDDEN = "31337"
TASK = Task(
    id="double",
    statement="Double a number.",
    tests=tuple(Test(input=str(n), output=str(2 * n)) for n in (1, 2, int(HIDDEN), 4)),
    limits=LimitOverrides(run_s=0.5),
)
Server = Callable[[Callable[[str], str]], ChatServer]
Play = Callable[..., list[Rollout]]


def lua_answer(program: str) -> str:
    """A completion with a program in Lua."""
    return f"```lua\n{program}\n```"


RIGHT = lua_answer("print(2 * io.read('n'))")
WRONG = lua_answer("print(io.read('n') + 7)")


def tool_call(tool: str, content: str) -> str:
    """A call of a tool in an action."""
    return f"<tool: {tool}>\n{content}\n</tool>"


def saying(*texts: str) -> Callable[[str], str]:
    """A policy that says these texts, one in each turn."""
    replies = iter(texts)
    return lambda _: next(replies)


@pytest.fixture(scope="module")
def lua_verifier(languages: dict[str, Language]) -> Iterator[RolloutVerifier]:
    """Verifies programs in Lua, two at a time."""
    with Verifier("bubblewrap", 2) as opened:
        yield RolloutVerifier(languages["lua"], opened)


@pytest.fixture
def play(chat_server: Server, lua_verifier: RolloutVerifier) -> Play:
    """Plays an episode with what `reply` says; `play.server` is what was asked."""

    def played(
        environment: Environment[Any], reply: Callable[[str], str], task: Task = TASK, **limits: int
    ) -> list[Rollout]:
        played.server = server = chat_server(reply)  # type: ignore[attr-defined]
        chosen = environment.limits.model_copy(update=limits)
        with (
            Endpoint(server.url, "m") as endpoint,
            EndpointSource(endpoint, 8) as source,
            EpisodeLoop(source, environment, lua_verifier, chosen) as episodes,
        ):
            prompt = prompt_of(lua_verifier.language, task, ChatSettings(), environment, "text")
            request = SampleRequest(prompt, 0, 0)
            return [future.result(timeout=60) for future in episodes.submit([request], PARAMS)]

    return played
