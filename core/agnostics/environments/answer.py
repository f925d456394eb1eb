"""The environment of a single answer: one completion of the prompt, whose program is verified."""

from __future__ import annotations

from dataclasses import dataclass

from agnostics.environments.environment import Environment, Episode, EpisodeLimits, Transition
from agnostics.types.rollout import Action
from agnostics.types.verification import Verification


@dataclass(slots=True)
class AnswerState:
    """The episode and the program of its action."""

    episode: Episode
    program: str | None = None


class Answer(Environment[AnswerState]):
    """The program in the first answer decides (the paper, section 3.3)."""

    name = "answer"
    limits = EpisodeLimits(max_turns=1, max_context_tokens=1 << 30)
    """The model's context is the limit."""

    async def start(self, episode: Episode) -> AnswerState:
        """See `Environment.start`."""
        return AnswerState(episode)

    async def step(self, state: AnswerState, action: Action) -> Transition:
        """See `Environment.step`."""
        state.program = state.episode.program_in(action)
        return Transition()

    async def verdict(self, state: AnswerState) -> Verification:
        """See `Environment.verdict`."""
        return await state.episode.verify(state.program)


ANSWER = Answer()
"""The environment of whatever knows no other one."""
