"""Episodes of several turns as they are played, with a policy behind a real endpoint and programs in a real sandbox."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from agnostics.environments.agentic_code import AgenticCode
from agnostics.environments.code_feedback import CodeFeedback
from agnostics.environments.environment import Environment, Episode, EpisodeLimits, Transition
from agnostics.inference.engine import SamplingParams
from agnostics.inference.openai_client import Endpoint
from agnostics.rollout import episode_sandboxes, rollout_verifier
from agnostics.rollout.episode_journal import EpisodeJournal
from agnostics.rollout.episode_loop import EpisodeLoop
from agnostics.rollout.prompts import ChatSettings, RenderedPrompt, prompt_of
from agnostics.rollout.rollout_verifier import RolloutVerifier
from agnostics.rollout.sources import ActionRequest, EndpointSource, SampleRequest
from agnostics.types.errors import UsageError
from agnostics.types.reward import Accepted
from agnostics.types.rollout import Action, Segment
from agnostics.types.verification import Verdict, Verification
from episodes import PARAMS, RIGHT, TASK, WRONG, Play, Server, saying, tool_call


@dataclass
class Waiting(Environment[Episode]):
    """Waits in the episode of one sample until that of another one has ended."""

    ended: threading.Event
    name = "waiting"
    limits = EpisodeLimits(max_turns=1)

    async def start(self, episode: Episode) -> Episode:
        return episode

    async def step(self, state: Episode, action: Action) -> Transition:
        if action.text == "slow":
            assert await state.in_thread(self.ended.wait, timeout=30)
        return Transition()

    async def verdict(self, state: Episode) -> Verification:
        self.ended.set()
        return Verification(state.task.id, "lua", None, Verdict.NO_PROGRAM, (), None, "none", 0, 0.0)


def test_a_slow_tool_holds_up_no_other_episode(chat_server: Server, lua_verifier: RolloutVerifier) -> None:
    server = chat_server(lambda question: question)
    with (
        Endpoint(server.url, "m") as endpoint,
        EndpointSource(endpoint, 8) as source,
        EpisodeLoop(source, Waiting(threading.Event()), lua_verifier) as episodes,
    ):
        requests = [SampleRequest(RenderedPrompt(TASK, said), 0, 0) for said in ("slow", "fast")]
        slow, fast = episodes.submit(requests, PARAMS)
        assert fast.result(timeout=30).text == "fast"
        assert slow.result(timeout=30).text == "slow"


def test_an_error_of_an_environment_is_that_of_its_episode(play: Play) -> None:
    class Broken(CodeFeedback):
        async def step(self, state: Any, action: Action) -> Transition:  # noqa: ARG002
            raise RuntimeError("on purpose")

    with pytest.raises(RuntimeError, match="on purpose"):
        play(Broken(), lambda _: RIGHT)


class Workshop(Environment[list[bytes]]):
    """Runs what the policy says as a command of a session, and says what it printed."""

    name = "workshop"
    limits = EpisodeLimits(max_turns=3)

    async def start(self, episode: Episode) -> Any:
        return episode, await episode.open_session()

    async def step(self, state: Any, action: Action) -> Transition:
        episode, session = state
        result = await episode.in_thread(session.exec, ["sh", "-c", action.text])
        return Transition(observation=episode.tool(result.stdout.decode()))

    async def verdict(self, state: Any) -> Verification:
        episode, session = state
        program = await episode.in_thread(session.get, "program.lua")
        verified: Verification = await episode.verify(program.decode())
        return verified


def test_an_environment_has_a_session_that_ends_with_its_episode(play: Play) -> None:
    commands = iter(["echo 'print(2 * io.read(\"n\"))' > program.lua", "cat program.lua", "ls"])
    (rollout,) = play(Workshop(), lambda _: next(commands))
    assert [turn.observation for turn in rollout.turns] == ["", 'print(2 * io.read("n"))\n', "program.lua\n"]
    assert rollout.verified.accepted


class Shopkeeper:
    """A policy in the same process, whose actions have tokens and write the right program."""

    max_in_flight, progress = 8, 0

    def submit(self, requests: Sequence[ActionRequest], params: SamplingParams) -> list[Future[Action | None]]:  # noqa: ARG002
        action = Future[Action | None]()
        action.set_result(SHELL_ACTION)
        return [action] * len(requests)


SHELL_ACTION = Action(
    "echo 'print(2 * io.read(\"n\"))' > program.lua; ls", "stop", 1, Segment.sampled((1,), (-1.0,), (0,))
)


def test_an_episode_that_starts_anew_gives_its_session_back_first(
    lua_verifier: RolloutVerifier, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(episode_sandboxes, "MAX_SESSIONS", 1)
    request = SampleRequest(RenderedPrompt(TASK, "Double."), 0, 0, step=1)
    with EpisodeJournal(tmp_path) as killed:
        killed.append(request, SHELL_ACTION, (7, 8))
    with EpisodeJournal(tmp_path) as journal, EpisodeLoop(Shopkeeper(), Workshop(), lua_verifier) as episodes:
        episodes.journal = journal
        (future,) = episodes.submit([request], PARAMS)
        rollout = future.result(timeout=30)
    assert (rollout.verified.verdict, len(rollout.turns), journal.resumed) == ("accepted", 3, 0)


def test_a_run_waits_for_an_action_of_many_long_calls(
    chat_server: Server, lua_verifier: RolloutVerifier, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rollout_verifier, "VERDICT_TIMEOUT_S", 3.0)
    calls = "\n".join([tool_call("bash", "sleep 2")] * 4)
    server = chat_server(saying(calls, RIGHT))
    environment = AgenticCode()
    with (
        Endpoint(server.url, "m") as endpoint,
        EndpointSource(endpoint, 1) as source,
        EpisodeLoop(source, environment, lua_verifier) as episodes,
    ):
        prompt = prompt_of(lua_verifier.language, TASK, ChatSettings(), environment, "text")
        (future,) = episodes.submit([SampleRequest(prompt, 0, 0)], PARAMS)
        assert episodes.wait(future).verified.accepted


def test_a_conversation_that_outgrows_the_model_of_an_endpoint_ends_its_episode_alone(
    chat_server: Server, lua_verifier: RolloutVerifier
) -> None:
    def reply(question: str) -> str:
        if "Expected output" in question:
            raise ValueError("This model's maximum context length is 100 tokens.")
        return RIGHT if "Third" in question else WRONG

    server = chat_server(reply)
    with (
        Endpoint(server.url, "m") as endpoint,
        EndpointSource(endpoint, 8) as source,
        EpisodeLoop(source, CodeFeedback(), lua_verifier) as episodes,
    ):
        prompts = [RenderedPrompt(TASK, text) for text in ("First.", "Second.", "Third.")]
        futures = episodes.submit([SampleRequest(prompt, 0, 0) for prompt in prompts], PARAMS)
        rollouts = [future.result(timeout=30) for future in futures]
        refused = episodes.submit([SampleRequest(RenderedPrompt(TASK, "Expected output"), 0, 0)], PARAMS)
        with pytest.raises(UsageError, match="refused with 400"):
            refused[0].result(timeout=30)
    ended = [(rollout.verified.verdict, len(rollout.turns), rollout.finish_reason) for rollout in rollouts]
    assert ended == [("wrong_answer", 1, "length"), ("wrong_answer", 1, "length"), ("accepted", 1, "stop")]


class Lost(Workshop):
    """Loses its session before the second command."""

    async def step(self, state: Any, action: Action) -> Transition:
        transition = await super().step(state, action)
        state[1].close()
        return transition


def test_an_episode_whose_sandbox_fails_is_left_out_of_the_loss(play: Play) -> None:
    (rollout,) = play(Lost(), lambda _: "ls")
    assert (rollout.verified.verdict, len(rollout.turns)) == ("sandbox_error", 1)
    assert "closed" in (rollout.verified.error or "")
    assert Accepted().rewards([rollout]) == [None]
