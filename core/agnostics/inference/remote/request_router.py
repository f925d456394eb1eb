"""The router of several engines: chooses the engine of each request, the one that has its prefix if there is one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby

from agnostics.inference.engine import CompletionRequest

_MAX_CONVERSATIONS = 1 << 16
"""Conversations whose engine is kept; the least recently continued ones leave first."""


class RequestRouter:
    """Divides requests among engines with the same model, each of which has a prefix cache of its own.

    The next turn of a conversation goes to the engine that sampled the one before, unless that has half of
    `max_num_seqs` more requests than another: none may be idle while turns wait in another's queue. All other requests
    keep the numbers equal, and those of a prompt go to one engine as far as that allows, which prefills it once.
    Prompts go to the engines in turn, so that all have short and long ones.

    New weights empty the prefix caches and change no routes: the conversations of a prompt share it again.
    """

    def __init__(self, max_num_seqs: int) -> None:
        self._max_difference = max(1, max_num_seqs // 2)
        self._engine_of: dict[int, int] = {}

    def route(self, requests: Sequence[CompletionRequest], unfinished: Sequence[int]) -> list[int]:
        """The number of each request's engine. `unfinished` has the unfinished requests of each engine."""
        loads = list(unfinished)
        engines = self._engines_with_prefix(requests)
        continued = list(engines)
        for engine in engines.values():
            loads[engine] += 1
        others = {place: request for place, request in enumerate(requests) if place not in engines}
        engines |= _divide_evenly(others, loads)
        for place in continued:
            engines[place] = self._relieved(engines[place], loads)
        self._remember(requests, engines)
        return [engines[place] for place in range(len(requests))]

    def _engines_with_prefix(self, requests: Sequence[CompletionRequest]) -> dict[int, int]:
        """The engines of the requests that continue a conversation, by their places."""
        conversations = {place: request.conversation for place, request in enumerate(requests)}
        return {place: self._engine_of[one] for place, one in conversations.items() if one in self._engine_of}

    def _relieved(self, engine: int, loads: list[int]) -> int:
        """The engine of a request that `engine` has: the least loaded one if it has too many more; `loads` change."""
        least = _least_loaded(loads)
        if loads[engine] - loads[least] <= self._max_difference:
            return engine
        loads[engine] -= 1
        loads[least] += 1
        return least

    def _remember(self, requests: Sequence[CompletionRequest], engines: Mapping[int, int]) -> None:
        """Keep the engines of the conversations that may go on."""
        for place, request in enumerate(requests):
            if request.conversation is None:
                continue
            self._engine_of.pop(request.conversation, None)
            if request.may_be_continued:
                self._engine_of[request.conversation] = engines[place]
        while len(self._engine_of) > _MAX_CONVERSATIONS:
            del self._engine_of[next(iter(self._engine_of))]


def _divide_evenly(requests: Mapping[int, CompletionRequest], loads: list[int]) -> dict[int, int]:
    """An engine for each request, by its place, so that all engines have the same number; `loads` grow."""
    engines = dict[int, int]()
    share = -(-(len(requests) + sum(loads)) // len(loads))
    for _, group in groupby(requests, key=lambda place: requests[place].prompt_ids):
        places = list(group)
        while places:
            engine = _least_loaded(loads)
            room = share - loads[engine]  # above 0: the mean of all is below the share
            engines |= dict.fromkeys(places[:room], engine)
            loads[engine] += len(places[:room])
            places = places[room:]
    return engines


def _least_loaded(loads: Sequence[int]) -> int:
    return min(range(len(loads)), key=loads.__getitem__)
