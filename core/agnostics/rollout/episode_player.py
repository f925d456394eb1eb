"""The player of one episode: actions and transitions in turns, from its first action or from a journal."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import Any

from agnostics.environments.environment import Environment
from agnostics.inference.engine import SamplingParams
from agnostics.rollout.episode_journal import EpisodeJournal, JournalTurn
from agnostics.rollout.running_episode import RunningEpisode
from agnostics.rollout.sources import SampleRequest
from agnostics.rollout.transcript import Transcript
from agnostics.types.rollout import Action

Act = Callable[[Transcript, SampleRequest, SamplingParams], Awaitable[Action | None]]
"""Samples the next action of an episode; None if the model has no room for it."""


class _Diverged(Exception):
    """The environment did not answer as the journal has it."""


@dataclass(slots=True)
class EpisodePlayer:
    """Plays one episode into `transcript`, and notes its turns in `journal`, if there is one.

    Turns that the journal has from a killed run are played again: the environment gets the same actions, and the
    episode goes on after them if it answers the same; else it starts anew.
    """

    environment: Environment[Any]
    transcript: Transcript
    act: Act
    request: SampleRequest
    params: SamplingParams
    journal: EpisodeJournal | None
    _recorded: list[JournalTurn] = field(default_factory=list)

    async def play(self, episode: RunningEpisode) -> Any:
        """Play until the episode has ended; the environment's state."""
        if self.journal:
            self._recorded = self.journal.turns(self.request)
        try:
            return await self._turns(episode)
        except _Diverged:
            assert self.journal
            self.journal.start_anew(self.request)
            await episode.close()  # else each episode would wait for a second session, while all have the first
            self._recorded, self.transcript = [], self.transcript.emptied()
            return await self._turns(episode)

    async def _turns(self, episode: RunningEpisode) -> Any:
        state = await self.environment.start(episode)
        while await self._turn(state):
            pass
        return state

    async def _turn(self, state: Any) -> bool:
        """One action and what follows from it; whether the episode goes on."""
        recorded = self._recorded.pop(0) if self._recorded else None
        started_s = time.monotonic()
        action = recorded.action if recorded else await self.act(self.transcript, self.request, self.params)
        if action is None:
            return self.transcript.end_without_room()
        action = replace(action, is_last=self.transcript.is_last_turn)
        sampled_s = time.monotonic()
        transition = await self.environment.step(state, action)
        observation = transition.observation.token_ids if transition.observation else None
        if self.journal and recorded:
            self._compare(recorded, observation)
        elif self.journal:
            self.journal.append(self.request, action, observation)
        times_ms = (sampled_s - started_s) * 1e3, (time.monotonic() - sampled_s) * 1e3
        return self.transcript.add_turn(action, transition, times_ms)

    def _compare(self, recorded: JournalTurn, observation: tuple[int, ...] | None) -> None:
        assert self.journal
        if observation != recorded.observation:
            raise _Diverged
        self.journal.resumed += 1
