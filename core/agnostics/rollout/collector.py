"""The rollout collector: samples completions and verifies the program of each while others are still sampled."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import groupby, islice
from queue import Empty, SimpleQueue
from typing import Any

from agnostics.inference.engine import Engine, SamplingParams, seed_for
from agnostics.profiling.spans import SpanRecorder
from agnostics.rollout.engine_loop import EngineLoop, EngineSource
from agnostics.rollout.prompts import RenderedPrompt
from agnostics.rollout.sources import CompletionSource, SampleRequest
from agnostics.types.code_extraction import strip_reasoning
from agnostics.types.errors import AgnosticsError
from agnostics.types.language import Language
from agnostics.types.rollout import FinishReason, Rollout, RolloutBatch, Segment
from agnostics.types.task import Task
from agnostics.types.verification import Verification
from agnostics.util.distributed import SINGLE_PROCESS, ProcessGroup
from agnostics.util.signals import InterruptHandler
from agnostics.verify import Verifier

VERDICT_TIMEOUT_S = 900.0
"""The longest time without any verdict while programs wait for one; the limits of the verifier are far below."""
_VERIFYING_PER_SLOT = 64


@dataclass(frozen=True, slots=True)
class RolloutVerifier:
    """Verifies the programs of rollouts in one language."""

    language: Language
    verifier: Verifier
    spans: SpanRecorder = field(default_factory=SpanRecorder)
    strips_reasoning: bool = False
    """Look for programs after the model's thoughts only."""

    @property
    def max_in_flight(self) -> int:
        """The most rollouts of a stream that are verified at the same time."""
        return _VERIFYING_PER_SLOT * self.verifier.slots

    def program_of(self, rollout: Rollout) -> str | None:
        """The program in the rollout's text, None if there is none."""
        text = strip_reasoning(rollout.text) if self.strips_reasoning else rollout.text
        return self.language.program_for(rollout.task, text)

    def submit(self, program: str | None, task: Task, *, stop_on_failure: bool = True) -> Future[Verification]:
        """Have a program verified against a task."""
        span = self.spans.begin("verification", task.id)
        verification = self.verifier.submit(self.language, program, task, stop_on_failure=stop_on_failure)
        verification.add_done_callback(lambda _: self.spans.end(span))
        return verification

    def verify(self, rollout: Rollout, program: str | None, *, stop_on_failure: bool = True) -> Future[Rollout]:
        """The rollout with the verification of `program`."""
        verified = Future[Rollout]()

        def done(verification: Future[Verification]) -> None:
            try:
                verified.set_result(replace(rollout, verification=verification.result()))
            except Exception as error:
                verified.set_exception(error)

        self.submit(program, rollout.task, stop_on_failure=stop_on_failure).add_done_callback(done)
        return verified

    def stream(
        self, programs: Iterable[tuple[Rollout, str | None]], *, stop_on_failure: bool = True
    ) -> Iterator[Rollout]:
        """Verify programs, each for its rollout; yields the rollouts as they are verified, in any order."""
        verified, pending = SimpleQueue[Future[Rollout]](), 0
        for rollout, program in programs:
            self.verify(rollout, program, stop_on_failure=stop_on_failure).add_done_callback(verified.put)
            pending += 1
            while pending >= self.max_in_flight or not verified.empty():
                pending -= 1
                yield _next(verified).result()
        for _ in range(pending):
            yield _next(verified).result()


def verification_timeout() -> AgnosticsError:
    """The error for a verifier that does not answer."""
    return AgnosticsError(
        f"the verifier has not answered for {VERDICT_TIMEOUT_S:.0f} s; run: agn doctor, then continue with --resume"
    )


def _next(verified: SimpleQueue[Future[Rollout]]) -> Future[Rollout]:
    try:
        return verified.get(timeout=VERDICT_TIMEOUT_S)
    except Empty:
        raise verification_timeout() from None


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
        return self.submit(prompts, group_size, params, seed, stop_on_failure=stop_on_failure).result()

    def submit(
        self,
        prompts: Sequence[RenderedPrompt],
        group_size: int,
        params: SamplingParams,
        seed: str,
        *,
        stop_on_failure: bool = True,
    ) -> PendingBatch:
        """Start to collect a batch, after all batches submitted before; see `collect`."""
        return PendingBatch(self, prompts, group_size, params, seed, stop_on_failure)

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


_Outcome = tuple[tuple[Segment, ...], str, FinishReason, int, Verification]
"""The part of a rollout that ranks exchange: its segments, text, finish reason, number of tokens and verification."""


class PendingBatch:
    """A batch that is being sampled and verified. Each rank has its shard."""

    def __init__(
        self,
        collector: RolloutCollector,
        prompts: Sequence[RenderedPrompt],
        group_size: int,
        params: SamplingParams,
        seed: str,
        stop_on_failure: bool,
    ) -> None:
        self._collector, self._group_size, self._stop_on_failure = collector, group_size, stop_on_failure
        self._requests = [
            SampleRequest(prompt, sample, seed_for(seed, prompt.task.id, sample))
            for prompt in prompts
            for sample in range(group_size)
        ]
        self._shard = collector.process_group.shard(range(len(self._requests)))
        # Prompts of similar length stand together, so that an engine which pads them pads little.
        self._order = sorted(self._shard, key=lambda index: len(self._requests[index].prompt.token_ids))
        self._sampled: dict[int, tuple[Rollout, Future[Verification]]] = {}
        self._by_program: dict[tuple[int, str | None], Future[Verification]] = {}
        self._submitted_s = self._sampled_s = self._progress_s = time.monotonic()
        submitted = [self._requests[index] for index in self._order]
        self._all_sampled = collector.source.submit(submitted, params, self._verify)

    def result(self) -> RolloutBatch:
        """Wait until every completion is sampled and verified, on all ranks."""
        group = self._collector.process_group
        outcomes = group.gather_shards(group.run_on_all(self._outcomes))
        rollouts = [
            Rollout(
                task=request.prompt.task,
                sample=request.sample,
                prompt_ids=request.prompt.token_ids,
                segments=segments,
                finish_reason=finish_reason,
                text=text,
                num_tokens=num_tokens,
                verification=verification,
            )
            for request, (segments, text, finish_reason, num_tokens, verification) in zip(
                self._requests, outcomes, strict=True
            )
        ]
        groups = [rollouts[start : start + self._group_size] for start in range(0, len(rollouts), self._group_size)]
        return RolloutBatch(groups, self._sampled_s - self._submitted_s, time.monotonic() - self._sampled_s)

    def _outcomes(self) -> list[_Outcome]:
        """The outcomes of this rank's shard."""
        self._collector.wait(self._all_sampled)
        with self._collector.interrupts.allowed():
            sampled = [self._sampled[index] for index in self._shard]
            return [
                (r.segments, r.text, r.finish_reason, r.num_tokens, self._verdict(verification))
                for r, verification in sampled
            ]

    def _verify(self, place: int, rollout: Rollout) -> None:
        """Verify a rollout as soon as it is sampled; called on the source's thread."""
        index = self._order[place]
        self._sampled[index] = rollout, self._verification(index, rollout)
        self._sampled_s = self._progress_s = time.monotonic()

    def _note_progress(self, _: object) -> None:
        self._progress_s = time.monotonic()

    def _verdict(self, verification: Future[Verification]) -> Verification:
        """Wait for a verification as long as there are others: many programs may reach their time limit in turn."""
        while True:
            progress_s = self._progress_s
            try:
                return verification.result(timeout=max(0.0, progress_s + VERDICT_TIMEOUT_S - time.monotonic()))
            except TimeoutError:
                if self._progress_s == progress_s:
                    raise verification_timeout() from None

    def _verification(self, index: int, rollout: Rollout) -> Future[Verification]:
        """The verification of the rollout's program; a program that a group holds several times runs once."""
        verifier = self._collector.verifier
        program = verifier.program_of(rollout)
        key = (index // self._group_size, program)
        if key not in self._by_program:
            verification = verifier.submit(program, rollout.task, stop_on_failure=self._stop_on_failure)
            verification.add_done_callback(self._note_progress)
            self._by_program[key] = verification
        return self._by_program[key]


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
        verifier = self._collector.verifier
        program = verifier.program_of(rollout)
        verified = verifier.verify(rollout, program, stop_on_failure=self._stop_on_failure)
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
