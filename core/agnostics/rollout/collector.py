"""The rollout collector: samples completions and verifies the program of each while others are still sampled."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import groupby, islice
from queue import Empty, SimpleQueue
from typing import Any

from agnostics.inference.engine import Engine, SamplingParams, seed_for
from agnostics.profiling.spans import SpanRecorder
from agnostics.rollout.engine_loop import EngineLoop, EngineSource
from agnostics.rollout.pending_batch import BatchRequest, DynamicSampling, PendingBatch
from agnostics.rollout.prompts import RenderedPrompt
from agnostics.rollout.rollout_verifier import VERDICT_TIMEOUT_S, RolloutVerifier, verification_timeout
from agnostics.rollout.sources import CompletionSource, SampleRequest
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
    """A collector that samples with `engine`, on a thread of its own."""
    spans = SpanRecorder()
    with EngineLoop(engine, spans) as loop:
        yield RolloutCollector(EngineSource(loop, tokenizer), RolloutVerifier(language, verifier, spans))


@dataclass(frozen=True, slots=True)
class RolloutCollector:
    """Collects rollouts of a language's tasks: batches of a training step, or a stream without end."""

    source: CompletionSource
    verifier: RolloutVerifier
    process_group: ProcessGroup = SINGLE_PROCESS
    interrupts: InterruptHandler = field(default_factory=InterruptHandler)

    def collect(
        self,
        prompts: Sequence[RenderedPrompt],
        group_size: int,
        params: SamplingParams,
        seed: str,
        *,
        stop_on_failure: bool = True,
    ) -> RolloutBatch:
        """Sample `group_size` completions of each prompt and verify them. `seed` decides the tokens.

        Without `stop_on_failure` every test of a program is run, also after a failed one. Every rank collects its shard
        and returns all rollouts.
        """
        return self.submit(BatchRequest(prompts, group_size, params, seed, stop_on_failure)).result()

    def submit(self, request: BatchRequest, dynamic: DynamicSampling | None = None) -> PendingBatch:
        """Start to collect a batch, after all batches submitted before; `dynamic` replaces groups without signal."""
        return PendingBatch(self.source, self.verifier, self.process_group, self.interrupts, request, dynamic)

    def sample(self, prompts: Sequence[RenderedPrompt], params: SamplingParams, seed: str) -> list[Rollout]:
        """One rollout of each prompt, not verified, on all ranks."""
        requests = [SampleRequest(prompt, 0, seed_for(seed, prompt.task.id)) for prompt in prompts]
        group, sampled = self.process_group, dict[int, Rollout]()
        shard = group.shard(requests)
        group.run_on_all(lambda: self.wait(self.source.submit(shard, params, sampled.__setitem__)))
        return group.gather_shards([sampled[index] for index in range(len(shard))])

    def stream(
        self,
        requests: Iterable[SampleRequest],
        params: Callable[[Task], SamplingParams],
        *,
        verify: bool = True,
        stop_on_failure: bool = True,
    ) -> Iterator[Rollout]:
        """The rollouts of `requests` as they are verified (or else sampled), in any order.

        Requests are read as they are needed, and only a few rollouts are held at a time.
        """
        return _Stream(self, iter(requests), params, verify, stop_on_failure).rollouts()

    def wait(self, sampled: Future[None]) -> None:
        """Wait for a future of the source; an interrupt ends the wait."""
        with self.interrupts.allowed():
            self.source.wait(sampled)


class _Stream:
    """Samples and verifies requests that are read as they are needed."""

    def __init__(
        self,
        collector: RolloutCollector,
        requests: Iterator[SampleRequest],
        params: Callable[[Task], SamplingParams],
        verifies: bool,
        stop_on_failure: bool,
    ) -> None:
        self._collector, self._requests, self._params = collector, requests, params
        self._verifies, self._stop_on_failure = verifies, stop_on_failure
        self._events = SimpleQueue[Rollout | Future[Rollout] | BaseException]()
        self._sampling = self._verifying = 0

    def rollouts(self) -> Iterator[Rollout]:
        """The rollouts as they are done. Raises what the source or the verifier raises."""
        while True:
            self._submit_more()
            if not self._sampling and not self._verifying:
                return
            event = self._next_event()
            if isinstance(event, BaseException):
                raise event
            if isinstance(event, Rollout):
                self._sampling -= 1
                if self._verifies:
                    self._verify(event)
                else:
                    yield event
            else:
                self._verifying -= 1
                yield event.result()

    def _submit_more(self) -> None:
        source = self._collector.source
        if self._verifying >= self._collector.verifier.max_in_flight:
            return
        requests = islice(self._requests, max(0, source.max_in_flight - self._sampling))
        for params, alike in groupby(requests, key=lambda request: self._params(request.prompt.task)):
            submitted = list(alike)
            self._sampling += len(submitted)
            sampled = source.submit(submitted, params, lambda _, rollout: self._events.put(rollout))
            sampled.add_done_callback(self._report_error)

    def _verify(self, rollout: Rollout) -> None:
        self._verifying += 1
        verified = self._collector.verifier.verify(rollout, stop_on_failure=self._stop_on_failure)
        verified.add_done_callback(self._events.put)

    def _report_error(self, sampled: Future[None]) -> None:
        if not sampled.cancelled() and (error := sampled.exception()):
            self._events.put(error)

    def _next_event(self) -> Rollout | Future[Rollout] | BaseException:
        while True:
            try:
                return self._events.get(timeout=VERDICT_TIMEOUT_S)
            except Empty:
                if self._verifying:
                    raise verification_timeout() from None
