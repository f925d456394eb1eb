"""The rollout collector: has episodes played, and their verdicts given while others are still sampled."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import groupby, islice
from queue import Empty, SimpleQueue
from typing import Any

from agnostics.environments.answer import ANSWER
from agnostics.inference.engine import Engine, SamplingParams, seed_for
from agnostics.profiling.spans import SpanRecorder
from agnostics.rollout.detokenizer import Detokenizer
from agnostics.rollout.engine_loop import EngineLoop, EngineSource
from agnostics.rollout.episode_loop import EpisodeLoop, OnSampled
from agnostics.rollout.pending_batch import BatchRequest, DynamicSampling, PendingBatch
from agnostics.rollout.prompts import RenderedPrompt
from agnostics.rollout.rollout_verifier import VERDICT_TIMEOUT_S, RolloutVerifier, verification_timeout
from agnostics.rollout.sources import SampleRequest
from agnostics.types.language import Language
from agnostics.types.rollout import Rollout, RolloutBatch
from agnostics.types.task import Task
from agnostics.util.distributed import SINGLE_PROCESS, ProcessGroup
from agnostics.util.signals import InterruptHandler
from agnostics.verify import Verifier


@contextmanager
def open_collector(
    engine: Engine, tokenizer: Any, language: Language, verifier: Verifier
) -> Iterator[RolloutCollector]:
    """A collector of single answers that samples with `engine`, on a thread of its own."""
    spans = SpanRecorder()
    with (
        EngineLoop(engine, spans) as loop,
        EpisodeLoop(
            EngineSource(loop, Detokenizer(tokenizer)), ANSWER, RolloutVerifier(language, verifier, spans)
        ) as episodes,
    ):
        yield RolloutCollector(episodes)


@dataclass(frozen=True, slots=True)
class RolloutCollector:
    """Collects rollouts of a language's tasks: batches of a training step, or a stream without end."""

    episodes: EpisodeLoop
    process_group: ProcessGroup = SINGLE_PROCESS
    interrupts: InterruptHandler = field(default_factory=InterruptHandler)

    @property
    def verifier(self) -> RolloutVerifier:
        """The verifier of the episodes' programs."""
        return self.episodes.verifier

    def collect(
        self,
        prompts: Sequence[RenderedPrompt],
        group_size: int,
        params: SamplingParams,
        seed: str,
        *,
        stop_on_failure: bool = True,
    ) -> RolloutBatch:
        """Play `group_size` episodes of each prompt. `seed` decides the tokens.

        Without `stop_on_failure` every test of a program is run, also after a failed one. Every rank collects its shard
        and returns all rollouts.
        """
        return self.submit(BatchRequest(prompts, group_size, params, seed, stop_on_failure)).result()

    def submit(self, request: BatchRequest, dynamic: DynamicSampling | None = None) -> PendingBatch:
        """Start to collect a batch, after all batches submitted before; `dynamic` replaces groups without signal."""
        return PendingBatch(self.episodes, self.process_group, self.interrupts, request, dynamic)

    def sample(self, prompts: Sequence[RenderedPrompt], params: SamplingParams, seed: str) -> list[Rollout]:
        """One action for each prompt, without an environment and not verified, on all ranks."""
        requests = [SampleRequest(prompt, 0, seed_for(seed, prompt.task.id)) for prompt in prompts]
        group = self.process_group
        shard = group.shard(requests)
        return group.gather_shards(group.run_on_all(lambda: self._sample(shard, params)))

    def _sample(self, requests: Sequence[SampleRequest], params: SamplingParams) -> list[Rollout]:
        sampled = self.episodes.sample(requests, params)
        with self.interrupts.allowed():
            return [self.episodes.wait(rollout) for rollout in sampled]

    def stream(
        self,
        requests: Iterable[SampleRequest],
        params: Callable[[Task], SamplingParams],
        *,
        verify: bool = True,
        stop_on_failure: bool = True,
    ) -> Iterator[Rollout]:
        """The rollouts of `requests` as they are verified, in any order; without `verify`, one action of each.

        Requests are read as they are needed, and only a few rollouts are held at a time.
        """

        def submit(requests: Sequence[SampleRequest], on_sampled: OnSampled) -> list[Future[Rollout]]:
            wanted = params(requests[0].prompt.task)
            if not verify:
                return self.episodes.sample(requests, wanted)
            return self.episodes.submit(requests, wanted, on_sampled, stop_on_failure=stop_on_failure)

        return _Stream(self.episodes, iter(requests), params, submit).rollouts()


_Submit = Callable[[Sequence[SampleRequest], OnSampled], list[Future[Rollout]]]


class _Stream:
    """Has requests played that are read as they are needed."""

    def __init__(
        self,
        episodes: EpisodeLoop,
        requests: Iterator[SampleRequest],
        params: Callable[[Task], SamplingParams],
        submit: _Submit,
    ) -> None:
        self._episodes, self._requests, self._params, self._submit = episodes, requests, params, submit
        self._events = SimpleQueue[Future[Rollout] | None]()
        self._unfinished = self._verifying = 0

    def rollouts(self) -> Iterator[Rollout]:
        """The rollouts as they are done. Raises what the source, the environment or the verifier raises."""
        while True:
            self._submit_more()
            if not self._unfinished:
                return
            event = self._next_event()
            if event is None:
                self._verifying += 1
            else:
                self._unfinished -= 1
                self._verifying = max(0, self._verifying - 1)
                yield event.result()

    def _submit_more(self) -> None:
        if self._verifying >= self._episodes.verifier.max_in_flight:
            return
        room = self._episodes.source.max_in_flight - (self._unfinished - self._verifying)
        for _, alike in groupby(islice(self._requests, max(0, room)), lambda one: self._params(one.prompt.task)):
            submitted = list(alike)
            self._unfinished += len(submitted)
            for rollout in self._submit(submitted, lambda: self._events.put(None)):
                rollout.add_done_callback(self._events.put)

    def _next_event(self) -> Future[Rollout] | None:
        """A finished episode, or None for one whose verdict alone is missing."""
        while True:
            try:
                return self._events.get(timeout=VERDICT_TIMEOUT_S)
            except Empty:
                if self._verifying:
                    raise verification_timeout() from None
