"""The action batcher: samples the next actions of episodes, those together that are asked for at the same time."""

from __future__ import annotations

import asyncio
from concurrent.futures import Future
from dataclasses import replace
from itertools import groupby

from agnostics.inference.engine import SamplingParams, seed_for
from agnostics.rollout.sources import ActionRequest, CompletionSource
from agnostics.rollout.transcript import Transcript
from agnostics.types.rollout import Action

_Wanted = tuple[ActionRequest, SamplingParams, "asyncio.Future[Action | None]"]


class ActionBatcher:
    """Samples actions for coroutines of one event loop, in the order in which they ask."""

    def __init__(self, loop: asyncio.AbstractEventLoop, source: CompletionSource) -> None:
        self._loop, self._source = loop, source
        self._wanted = list[_Wanted]()
        self.pending = 0
        """Actions that are being sampled."""

    async def sample(self, transcript: Transcript, params: SamplingParams) -> Action | None:
        """The next action of an episode, if there is room; None if the model holds no more tokens.

        Raises what the source raises.
        """
        if not self._wanted:
            self._loop.call_soon(self._submit)  # after the other coroutines that are ready
        action = self._loop.create_future()
        room = min(params.max_completion_tokens, transcript.room)
        self._wanted.append((_request(transcript), replace(params, max_completion_tokens=room), action))
        self.pending += 1
        try:
            return await action
        finally:
            self.pending -= 1

    def _submit(self) -> None:
        wanted, self._wanted = self._wanted, []
        for params, alike in groupby(wanted, key=lambda one: one[1]):
            self._submit_together(params, list(alike))

    def _submit_together(self, params: SamplingParams, wanted: list[_Wanted]) -> None:
        actions = [action for _, _, action in wanted]

        def sampled(index: int, action: Action | None) -> None:
            self._loop.call_soon_threadsafe(_give, actions[index], action)

        def done(batch: Future[None]) -> None:
            if not batch.cancelled() and (error := batch.exception()):
                self._loop.call_soon_threadsafe(_fail, actions, error)

        try:
            submitted = self._source.submit([request for request, _, _ in wanted], params, sampled)
        except Exception as error:
            _fail(actions, error)
        else:
            submitted.add_done_callback(done)


def _request(transcript: Transcript) -> ActionRequest:
    """The request for the next action of an episode. The seed of the first one is the episode's own."""
    number, asked = transcript.num_turns, transcript.request
    seed = seed_for(asked.seed, number) if number else asked.seed
    return ActionRequest(asked.prompt, seed, tuple(transcript.token_ids), tuple(transcript.messages))


def _give(future: asyncio.Future[Action | None], action: Action | None) -> None:
    if not future.done():
        future.set_result(action)


def _fail(futures: list[asyncio.Future[Action | None]], error: BaseException) -> None:
    for future in futures:
        if not future.done():
            future.set_exception(error)
