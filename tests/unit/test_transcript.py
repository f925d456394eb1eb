"""The transcript of an episode: what an action and an observation add to it."""

from __future__ import annotations

from dataclasses import replace

from agnostics.environments.environment import EpisodeLimits, Observation, Transition
from agnostics.rollout.prompts import RenderedPrompt
from agnostics.rollout.sources import SampleRequest
from agnostics.rollout.transcript import Transcript
from agnostics.types.rollout import Action, FinishReason, Segment
from agnostics.types.task import Task, Test

END = 9
PROMPT = RenderedPrompt(Task(id="t", tests=(Test(input="", output=""),)), "p", (1, 2))
TOLD = Transition(observation=Observation("told", "user", (5, 6), (END,)))


def _action(*ids: int, finish_reason: FinishReason = "stop", version: int = 0, is_last: bool = False) -> Action:
    segment = Segment.sampled(ids, [-0.5] * len(ids), [version] * len(ids))
    return Action("said", finish_reason, len(ids), segment, is_last)


def _transcript(max_context_tokens: int = 100) -> Transcript:
    return Transcript(
        SampleRequest(PROMPT, 3, seed=0), EpisodeLimits(max_turns=5, max_context_tokens=max_context_tokens)
    )


def test_an_observation_follows_the_action_and_has_no_loss() -> None:
    transcript = _transcript()
    assert transcript.add_turn(_action(4, END, version=2), TOLD, (1.0, 2.0))
    assert not transcript.add_turn(_action(4, 4, END, version=3), Transition(), (1.0, 2.0))
    rollout = transcript.rollout(None)
    assert rollout.token_ids == (4, END, 5, 6, 4, 4, END)
    assert rollout.mask == (1, 1, 0, 0, 1, 1, 1)
    assert rollout.sampled_versions == (2, 2, 3, 3, 3)
    assert (rollout.num_tokens, rollout.num_sampled, rollout.sample) == (5, 5, 3)
    assert [(turn.observation, turn.observation_tokens) for turn in rollout.turns] == [("told", 2), (None, 0)]


def test_a_truncated_action_is_ended_by_the_observation() -> None:
    transcript = _transcript()
    assert transcript.add_turn(_action(4, finish_reason="length"), TOLD, (0.0, 0.0))
    assert transcript.rollout(None).token_ids == (4, END, 5, 6)
    assert transcript.rollout(None).mask == (1, 0, 0, 0)


def test_an_episode_ends_where_an_observation_leaves_no_room_for_an_action() -> None:
    transcript = _transcript(max_context_tokens=6)
    assert not transcript.add_turn(_action(4, END), TOLD, (0.0, 0.0))
    rollout = transcript.rollout(None)
    assert rollout.token_ids == (4, END)
    assert (rollout.finish_reason, rollout.turns[0].observation) == ("length", "told")
    assert rollout.turns[0].observation_tokens == 0
    roomy = _transcript(max_context_tokens=7)
    assert roomy.add_turn(_action(4, END), TOLD, (0.0, 0.0))
    assert roomy.room == 1


def test_nothing_follows_the_last_action() -> None:
    transcript = _transcript()
    assert not transcript.add_turn(_action(4, END, is_last=True), TOLD, (0.0, 0.0))
    rollout = transcript.rollout(None)
    assert rollout.token_ids == (4, END)
    assert [(turn.observation, turn.observation_tokens) for turn in rollout.turns] == [("told", 0)]


def test_a_turn_says_what_the_engine_computed_for_its_action() -> None:
    transcript = _transcript()
    assert transcript.add_turn(replace(_action(4, END), computed_prompt_tokens=2), TOLD, (0.0, 0.0))
    assert not transcript.add_turn(replace(_action(4, END), computed_prompt_tokens=3), Transition(), (0.0, 0.0))
    assert [turn.computed_prompt_tokens for turn in transcript.rollout(None).turns] == [2, 3]


def test_an_endpoint_gets_messages() -> None:
    transcript = _transcript()
    assert transcript.add_turn(Action("said", "stop", 7), TOLD, (0.0, 0.0))
    assert transcript.messages == [{"role": "assistant", "content": "said"}, {"role": "user", "content": "told"}]
    assert transcript.rollout(None).segments == ()
