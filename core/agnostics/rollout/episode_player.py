"""The player of one episode: its turns, from the first action or from a journal, and its verdict."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from agnostics.environments.environment import Environment
from agnostics.inference.engine import SamplingParams
from agnostics.rollout.action_batcher import ActionBatcher
from agnostics.rollout.episode_journal import EpisodeJournal, JournalTurn
from agnostics.rollout.running_episode import RunningEpisode
from agnostics.rollout.transcript import Transcript
from agnostics.sandbox.session import SessionError
from agnostics.types.rollout import Rollout


class _Diverged(Exception):
    """The environment did not answer as the journal has it."""


@dataclass(slots=True)
class EpisodePlayer:
    """Plays one episode into `transcript`, and notes its turns in `journal`, if there is one.

    Turns that the journal has from a killed run are played again: the environment gets the same actions, and the
    episode goes on after them if it answers the same; else it starts anew.
    """

    environment: Environment[Any]
    episode: RunningEpisode
    transcript: Transcript
    actions: ActionBatcher
    params: SamplingParams
    journal: EpisodeJournal | None
    _recorded: list[JournalTurn] = field(default_factory=list)

    async def play(self, on_sampled: Callable[[], None]) -> Rollout:
        """Play the episode; its rollout. `on_sampled` is called when only the verdict is missing."""
        try:
            state = await self._turns()
            on_sampled()
            verification = await self.environment.verdict(state)
        except SessionError as error:
            verification = self.episode.without_verdict(str(error))
        finally:
            await self.episode.close()
        self.episode.progressed()
        return self.transcript.rollout(verification)

    async def _turns(self) -> Any:
        """Play every turn, first those of the journal; the environment's state at the end."""
        if self.journal:
            self._recorded = self.journal.turns(self.transcript.request)
        try:
            return await self._turns_from_start()
        except _Diverged:
            assert self.journal
            self.journal.start_anew(self.transcript.request)
            await self.episode.close()  # else each episode would wait for a second session, while all have the first
            self._recorded, self.transcript = [], self.transcript.emptied()
            return await self._turns_from_start()

    async def _turns_from_start(self) -> Any:
        state = await self.environment.start(self.episode)
        while await self._turn(state):
            pass
        return state

    async def _turn(self, state: Any) -> bool:
        """One action and what follows from it; whether the episode goes on."""
        recorded = self._recorded.pop(0) if self._recorded else None
        started_s = time.monotonic()
        action = recorded.action if recorded else await self.actions.sample(self.transcript, self.params)
        if action is None:
            return self.transcript.end_without_room()
        action = replace(action, is_last=self.transcript.is_last_turn)
        sampled_s = time.monotonic()
        transition = await self.environment.step(state, action)
        observation = transition.observation.token_ids if transition.observation else None
        if self.journal and recorded:
            self._compare(recorded, observation)
        elif self.journal:
            self.journal.append(self.transcript.request, action, observation)
        times_ms = (sampled_s - started_s) * 1e3, (time.monotonic() - sampled_s) * 1e3
        return self.transcript.add_turn(action, transition, times_ms)

    def _compare(self, recorded: JournalTurn, observation: tuple[int, ...] | None) -> None:
        assert self.journal
        if observation != recorded.observation:
            raise _Diverged
        self.journal.resumed += 1
