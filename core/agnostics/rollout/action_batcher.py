"""The action batcher: samples the next actions of episodes, those together that are asked for at the same time."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import replace
from itertools import groupby

from agnostics.inference.engine import SamplingParams, seed_for
from agnostics.rollout.sources import ActionRequest, CompletionSource
from agnostics.rollout.transcript import Transcript
from agnostics.types.rollout import Action

_Submitted = asyncio.Future[Future[Action | None]]


class ActionBatcher:
    """Samples actions for coroutines of one event loop, in the order in which they ask."""

    def __init__(self, loop: asyncio.AbstractEventLoop, source: CompletionSource) -> None:
        self._loop, self._source = loop, source
        self._asked = list[tuple[ActionRequest, SamplingParams, _Submitted]]()
        self.pending = 0
        """Actions that are being sampled."""

    async def sample(self, transcript: Transcript, params: SamplingParams) -> Action | None:
        """The next action of an episode, if there is room; None if the model holds no more tokens.

        Raises what the source raises.
        """
        if not self._asked:
            self._loop.call_soon(self._submit)  # after the other coroutines that are ready
        submitted: _Submitted = self._loop.create_future()
        room = min(params.max_completion_tokens, transcript.room)
        self._asked.append((_request(transcript), replace(params, max_completion_tokens=room), submitted))
        self.pending += 1
        try:
            return await asyncio.wrap_future(await submitted)
        finally:
            self.pending -= 1

    def _submit(self) -> None:
        asked, self._asked = self._asked, []
        for params, alike in groupby(asked, key=lambda one: one[1]):
            requests, _, submitted = zip(*alike, strict=True)
            for waiting, action in zip(submitted, self._actions(requests, params), strict=True):
                if not waiting.done():  # else its episode was cancelled
                    waiting.set_result(action)

    def _actions(self, requests: Sequence[ActionRequest], params: SamplingParams) -> list[Future[Action | None]]:
        try:
            return self._source.submit(requests, params)
        except Exception as error:
            failed = Future[Action | None]()
            failed.set_exception(error)
            return [failed] * len(requests)


def _request(transcript: Transcript) -> ActionRequest:
    """The request for the next action of an episode. The seed of the first one is the episode's own."""
    number, asked = transcript.num_turns, transcript.request
    seed = seed_for(asked.seed, number) if number else asked.seed
    return ActionRequest(
        asked.prompt,
        seed,
        tuple(transcript.token_ids),
        tuple(transcript.messages),
        may_be_continued=not transcript.is_last_turn,
        conversation=transcript.number,
    )
