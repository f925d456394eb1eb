"""A rollout: its segments read as one sequence, and what the policy sampled of it."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, replace
from typing import Any

import pytest
from agnostics.types.rollout import Rollout, RolloutBatch, Segment, ToolCallRecord, Turn
from agnostics.types.task import Task, Test
from agnostics.types.verification import Verdict, Verification

TASK = Task(id="t", tests=(Test(input="", output=""),))
VERIFICATION = Verification("t", "lua", "x", Verdict.ACCEPTED, (), None, "none", 1, 0.0)


def _rollout(*segments: Segment, sample: int = 0) -> Rollout:
    return Rollout(task=TASK, sample=sample, prompt_ids=(1, 2, 3), segments=segments)


def _two_turns() -> Rollout:
    """The policy writes, a tool replies, the policy writes again: one update comes within each of its turns."""
    first = Segment.sampled([11, 12], [-0.1, -0.2], [3, 4])
    tool = Segment((21, 22), (0, 0), (0.0, 0.0), (4, 4))
    second = Segment.sampled([13, 14], [-0.3, -0.4], [4, 5])
    return _rollout(first, tool, second)


def test_segments_read_as_one_sequence() -> None:
    rollout = _two_turns()
    assert rollout.token_ids == (11, 12, 21, 22, 13, 14)
    assert rollout.mask == (1, 1, 0, 0, 1, 1)


def test_only_tokens_that_the_policy_sampled_have_logprobs_and_versions() -> None:
    rollout = _two_turns()
    assert rollout.num_sampled == 4
    assert rollout.sampled_logprobs == (-0.1, -0.2, -0.3, -0.4)
    assert rollout.sampled_versions == (3, 4, 4, 5)


def test_a_mask_may_change_within_a_segment() -> None:
    rollout = _rollout(Segment((5, 6, 7), (1, 0, 1), (-0.5, 0.0, -0.25), (2, 9, 3)))
    assert rollout.num_sampled == 2
    assert rollout.sampled_logprobs == (-0.5, -0.25)
    assert rollout.sampled_versions == (2, 3)


def test_the_policy_version_is_that_of_the_last_sampled_token() -> None:
    tool = Segment((21,), (0,), (0.0,), (9,))
    assert _two_turns().policy_version == 5
    assert _rollout(*_two_turns().segments, tool).policy_version == 5
    assert _rollout(tool).policy_version == 0
    assert _rollout().policy_version == 0


def test_a_single_answer_is_one_turn_that_met_nothing_but_the_verdict() -> None:
    turn = Turn(text="x", num_tokens=1, finish_reason="stop", sampling_ms=5.0)
    call = ToolCallRecord(tool="shell", arguments={}, output="", ok=True)
    told: tuple[dict[str, Any], ...] = ({"observation": ""}, {"verification": VERIFICATION}, {"reward": 0.0})
    assert _rollout().is_single_answer
    assert replace(_rollout(), turns=(turn,)).is_single_answer
    assert not replace(_rollout(), turns=(turn, turn)).is_single_answer
    for feedback in (*told, {"tool_calls": (call,)}):
        assert not replace(_rollout(), turns=(replace(turn, **feedback),)).is_single_answer, feedback


def test_a_segment_with_a_field_too_short_is_refused() -> None:
    with pytest.raises(ValueError, match="equally long"):
        Segment((1, 2), (1, 1), (-0.5,), (0, 0))


def test_a_rollout_that_is_not_verified_says_so() -> None:
    with pytest.raises(ValueError, match="the rollout of task 't' is not verified yet"):
        _ = _rollout().verified
    assert replace(_rollout(), verification=VERIFICATION).verified is VERIFICATION


def test_a_rollout_is_not_changed_but_replaced() -> None:
    rollout = _two_turns()
    with pytest.raises(FrozenInstanceError):
        rollout.advantage = 1.0  # type: ignore[misc]
    assert replace(rollout, advantage=1.0).advantage == 1.0
    assert rollout.advantage is None


def test_a_batch_holds_its_rollouts_group_by_group() -> None:
    one, two, three = (_rollout(sample=sample) for sample in range(3))
    assert [rollout.sample for rollout in RolloutBatch([[one], [two, three]]).rollouts] == [0, 1, 2]
