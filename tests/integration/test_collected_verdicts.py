"""The verdicts of a collected batch, with completions of a real server and a real sandbox."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import pytest
from agnostics.environments.answer import ANSWER
from agnostics.inference.engine import SamplingParams
from agnostics.inference.openai_client import Endpoint
from agnostics.rollout import rollout_verifier
from agnostics.rollout.collector import RolloutCollector
from agnostics.rollout.episode_loop import EpisodeLoop
from agnostics.rollout.prompts import RenderedPrompt
from agnostics.rollout.rollout_verifier import RolloutVerifier
from agnostics.rollout.sources import EndpointSource
from agnostics.types.language import Language
from agnostics.types.rollout import Rollout
from agnostics.types.task import Task, Test
from agnostics.verify import Verifier
from chat_server import ChatServer

PARAMS = SamplingParams(temperature=1.0, max_completion_tokens=64)
Server = Callable[[Callable[[str], str]], ChatServer]
Collect = Callable[..., list[Rollout]]


@pytest.fixture
def collect(chat_server: Server, languages: dict[str, Language]) -> Iterator[Collect]:
    """Collects a completion of each program, a task for each, with one slot."""
    server = chat_server(lambda question: f"```lua\n{question}\n```")

    def collected(programs: Sequence[str], tests: Sequence[Test], *, stop_on_failure: bool = True) -> list[Rollout]:
        tasks = [Task(id=str(number), tests=tuple(tests)) for number in range(len(programs))]
        prompts = [RenderedPrompt(task, program) for task, program in zip(tasks, programs, strict=True)]
        with (
            Endpoint(server.url, "m") as endpoint,
            EndpointSource(endpoint, len(programs)) as source,
            EpisodeLoop(source, ANSWER, RolloutVerifier(languages["lua"], verifier)) as episodes,
        ):
            made = RolloutCollector(episodes)
            return made.collect(prompts, 1, PARAMS, "seed", stop_on_failure=stop_on_failure).rollouts

    with Verifier("bubblewrap", 1) as verifier:
        yield collected


def test_every_test_is_run_where_a_reward_needs_it_and_else_none_after_a_failed_one(collect: Collect) -> None:
    program = "local n = io.read('n') if n == 3 then error('no') end print(n == 1 and 0 or n)"
    tests = [Test(input=str(n), output=str(n)) for n in (1, 2, 3, 4)]
    for stop, verdicts, overall in (
        (True, ["wrong_answer", "skipped", "skipped", "skipped"], "wrong_answer"),
        (False, ["wrong_answer", "accepted", "runtime_error", "accepted"], "runtime_error"),
    ):
        (rollout,) = collect([program], tests, stop_on_failure=stop)
        assert [test.verdict for test in rollout.verified.tests] == verdicts
        assert rollout.verified.verdict == overall


def test_a_batch_that_takes_long_is_waited_for_as_long_as_verdicts_come(
    collect: Collect, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Eight programs of 0.45 s take turns: none of them keeps the batch waiting for three seconds without a verdict."""
    monkeypatch.setattr(rollout_verifier, "VERDICT_TIMEOUT_S", 3.0)
    busy = "local start = os.clock() while os.clock() - start < 0.45 do end print({0})"
    rollouts = collect([busy.format(number) for number in range(8)], [Test(input="", output="0")])
    assert [rollout.verified.verdict for rollout in rollouts] == ["accepted", *["wrong_answer"] * 7]
