"""The transcript of an episode: its tokens and turns so far, to which actions and observations are only appended."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import count
from typing import Literal

from agnostics.environments.environment import EpisodeLimits, Observation, Transition
from agnostics.rollout.sources import SampleRequest
from agnostics.types.rollout import Action, FinishReason, Rollout, Segment, Turn
from agnostics.types.verification import Verification

_numbers = count()


@dataclass(slots=True)
class Transcript:
    """The transcript of the episode that `request` asks for, within `limits`."""

    request: SampleRequest
    limits: EpisodeLimits
    token_ids: list[int] = field(default_factory=list)
    """The tokens after the prompt: (N,)."""
    messages: list[dict[str, str]] = field(default_factory=list)
    """The messages after the prompt, for an endpoint."""
    number: int = field(default_factory=lambda: next(_numbers))
    """No other transcript of this process has it; an episode's seed returns with every evaluation."""
    _segments: list[Segment] = field(default_factory=list)
    _turns: list[Turn] = field(default_factory=list)
    _finish_reason: FinishReason = "stop"

    @property
    def room(self) -> int:
        """Tokens that still fit into the context."""
        return self.limits.max_context_tokens - len(self.request.prompt.token_ids) - len(self.token_ids)

    @property
    def num_turns(self) -> int:
        """Actions so far."""
        return len(self._turns)

    @property
    def is_last_turn(self) -> bool:
        """Whether the next action is the last that the limits allow."""
        return len(self._turns) + 1 >= self.limits.max_turns

    def emptied(self) -> Transcript:
        """The transcript before its first turn."""
        return Transcript(self.request, self.limits)

    def add_action(self, action: Action) -> None:
        """Append the only action of a rollout without an environment."""
        self.add_turn(action, Transition(), (0.0, 0.0))

    def add_turn(self, action: Action, transition: Transition, times_ms: tuple[float, float]) -> bool:
        """Append an action and, if the episode goes on, its observation; whether there is room for another action.

        `times_ms` are those of sampling and of the environment.
        """
        self._append(action.segment)
        self._finish_reason = action.finish_reason
        observation = transition.observation
        tokens = self._tokens_of(observation, action) if observation else ()
        goes_on = observation is not None and not action.is_last
        if goes_on and len(tokens) >= self.room:
            goes_on, self._finish_reason = False, "length"
        if observation and goes_on:
            self._append(_written(tokens, action.segment))
            self.messages += [
                {"role": "assistant", "content": action.text},
                {"role": observation.role, "content": observation.text},
            ]
        self._turns.append(_turn(action, transition, len(tokens) if goes_on else 0, times_ms))
        return goes_on

    def end_without_room(self) -> Literal[False]:
        """End the episode because its model, behind an endpoint, holds no more tokens."""
        self._finish_reason = "length"
        return False

    def rollout(self, verification: Verification | None) -> Rollout:
        """The episode as a rollout."""
        return Rollout(
            task=self.request.prompt.task,
            sample=self.request.sample,
            prompt_ids=self.request.prompt.token_ids,
            segments=tuple(self._segments),
            turns=tuple(self._turns),
            finish_reason=self._finish_reason,
            text=self._turns[-1].text if self._turns else "",
            num_tokens=sum(turn.num_tokens for turn in self._turns),
            verification=verification,
        )

    def _tokens_of(self, observation: Observation, action: Action) -> tuple[int, ...]:
        """The tokens of an observation, after the end of an action that lacks it."""
        if action.segment is None:
            return ()
        end = observation.end_of_turn
        has_ended = action.segment.token_ids[-1:] == end[-1:]
        return observation.token_ids if has_ended else (*end, *observation.token_ids)

    def _append(self, segment: Segment | None) -> None:
        if segment is not None:
            self._segments.append(segment)
            self.token_ids += segment.token_ids


def _written(token_ids: tuple[int, ...], action: Segment | None) -> Segment | None:
    """The segment of tokens that the policy did not sample; they count to the version that sampled before them."""
    if action is None:
        return None
    size, version = len(token_ids), action.policy_versions[-1] if action.policy_versions else 0
    return Segment(token_ids, (0,) * size, (0.0,) * size, (version,) * size)


def _turn(action: Action, transition: Transition, observation_tokens: int, times_ms: tuple[float, float]) -> Turn:
    observation = transition.observation
    return Turn(
        text=action.text,
        num_tokens=action.num_tokens,
        finish_reason=action.finish_reason,
        observation=observation.text if observation else None,
        observation_tokens=observation_tokens,
        verification=transition.verification,
        reward=transition.reward,
        tool_calls=transition.tool_calls,
        sampling_ms=times_ms[0],
        environment_ms=times_ms[1],
        computed_prompt_tokens=action.computed_prompt_tokens,
    )
