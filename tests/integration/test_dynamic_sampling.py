"""Dynamic sampling, with completions of a real server and a real sandbox."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import count

import pytest
from agnostics.algorithms.algorithm import ScoringContext
from agnostics.algorithms.dapo import DAPO
from agnostics.environments.answer import ANSWER
from agnostics.inference.engine import SamplingParams
from agnostics.inference.openai_client import Endpoint
from agnostics.rollout.collector import RolloutCollector
from agnostics.rollout.episode_loop import EpisodeLoop
from agnostics.rollout.pending_batch import BatchRequest, DynamicSampling
from agnostics.rollout.prompts import RenderedPrompt
from agnostics.rollout.rollout_verifier import RolloutVerifier
from agnostics.rollout.sources import EndpointSource
from agnostics.types.language import Language
from agnostics.types.reward import Accepted
from agnostics.types.rollout import RolloutBatch, RolloutGroup
from agnostics.types.task import Task, Test
from agnostics.verify import Verifier
from chat_server import ChatServer

PARAMS = SamplingParams(temperature=1.0, max_completion_tokens=64)
Reply = Callable[[str], str]
Server = Callable[[Reply], ChatServer]
Collect = Callable[[Reply, Sequence[str], Sequence[Sequence[str]]], RolloutBatch]


@pytest.fixture
def collect(chat_server: Server, languages: dict[str, Language]) -> Iterator[Collect]:
    """Collects two completions of each question, and of the replacements of those whose group has no signal."""

    def collected(
        reply: Callable[[str], str], questions: Sequence[str], others: Sequence[Sequence[str]]
    ) -> RolloutBatch:
        server = chat_server(reply)
        score = partial(DAPO.score_group, context=ScoringContext(Accepted(), 64, 1000))
        dynamic = DynamicSampling([list(map(_prompt, chain)) for chain in others], score, DAPO.has_signal)
        with (
            Endpoint(server.url, "m") as endpoint,
            EndpointSource(endpoint, 16) as source,
            EpisodeLoop(source, ANSWER, RolloutVerifier(languages["lua"], verifier)) as episodes,
        ):
            collector = RolloutCollector(episodes)
            return collector.submit(BatchRequest(list(map(_prompt, questions)), 2, PARAMS, "seed"), dynamic).result()

    with Verifier("bubblewrap", 2) as verifier:
        yield collected


def _prompt(name: str) -> RenderedPrompt:
    return RenderedPrompt(Task(id=name, tests=(Test(input="", output="1"),)), name)


def _program(output: int) -> str:
    return f"```lua\nprint({output})\n```"


def _tasks(groups: Sequence[RolloutGroup]) -> list[str]:
    return [group[0].task.id for group in groups]


def test_a_group_without_signal_is_replaced_while_another_one_is_still_sampled(collect: Collect) -> None:
    replaced, calls = threading.Event(), {name: count() for name in ("slow", "replacement")}

    def reply(question: str) -> str:
        if question == "replacement":
            replaced.set()
        if question == "slow" and not replaced.wait(timeout=20):
            raise TimeoutError("the replacement was not asked for while this completion was sampled")
        return _program(next(calls[question]) % 2 if question in calls else 0)

    batch = collect(reply, ["hard", "slow"], [["replacement"], ["unused"]])
    assert _tasks(batch.groups) == ["hard", "slow", "replacement"]
    assert all(rollout.reward is not None for rollout in batch.rollouts)


def test_each_prompt_has_replacements_of_its_own_until_one_has_a_signal_or_none_is_left(collect: Collect) -> None:
    calls = {name: count() for name in ("good", "b1", "c")}

    def reply(question: str) -> str:
        return _program(next(calls[question]) % 2 if question in calls else 0)

    batch = collect(reply, ["a", "good", "b", "c"], [["a1", "a2"], ["x"], ["b1", "b2"], ["y"]])
    assert _tasks(batch.groups) == ["a", "good", "b", "c", "a1", "b1", "a2"]
    assert [DAPO.has_signal(group) for group in batch.groups] == [False, True, False, True, False, True, False]
    assert [[rollout.sample for rollout in group] for group in batch.groups] == [[0, 1]] * 7


def test_a_reward_that_fails_ends_the_batch_with_its_error(collect: Collect, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> list[float]:
        raise RuntimeError("the judge is away")

    monkeypatch.setattr(Accepted, "rewards", fail)
    with pytest.raises(RuntimeError, match="the judge is away"):
        collect(lambda _: _program(1), ["a"], [["b"]])
