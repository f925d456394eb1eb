"""The engine loop: an inference engine on a thread of its own, which samples while the trainer learns, as a source."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Self

from agnostics.inference.engine import Completion, CompletionRequest, Engine, SamplingParams, SupportsSleep
from agnostics.profiling.spans import SpanRecorder
from agnostics.rollout.detokenizer import Detokenizer
from agnostics.rollout.sources import ActionRequest
from agnostics.types.errors import AgnosticsError
from agnostics.types.rollout import Action
from agnostics.util.distributed import select_device

if TYPE_CHECKING:
    import torch

_TOKEN_TIMEOUT_S = 900.0
"""Timeout for one token of the engine."""
_TOKENS_PER_SPAN = 64

OnFinished = Callable[[int, Completion], None]
"""Called with the index of a request and its completion as it finishes, on the engine's thread."""


@dataclass(slots=True)
class _Batch:
    """Requests that were submitted together."""

    on_finished: OnFinished
    unfinished: int
    done: Future[None] = field(default_factory=Future)


class EngineLoop:
    """Completes requests in the order of their submission, many at a time. A context manager.

    All calls of the engine happen on one thread, those that send weights to an engine in another process too. New
    weights are loaded between two tokens.
    """

    def __init__(self, engine: Engine, spans: SpanRecorder) -> None:
        self._engine = engine
        self._spans = spans
        self._inbox: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self._requests: dict[int, tuple[_Batch, int]] = {}
        self._next_id = 0
        self._tokens = 0
        self._closed = False
        self._asleep: SupportsSleep | None = None
        self._thread = threading.Thread(target=self._run, name="agnostics-engine", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        self._call(select_device, "select its GPU")
        return self

    def __exit__(self, *exception: object) -> None:
        self._inbox.put(self._close)
        self._thread.join(timeout=_TOKEN_TIMEOUT_S)

    @property
    def is_busy(self) -> bool:
        """Whether a request that the engine has is not finished yet."""
        return bool(self._requests)

    @property
    def tokens(self) -> int:
        """Steps of the engine so far."""
        return self._tokens

    def submit(
        self, requests: Sequence[CompletionRequest], params: SamplingParams, on_finished: OnFinished
    ) -> Future[None]:
        """Complete every request; the future is done when all are, and raises the error of the engine."""
        batch = _Batch(on_finished, len(requests))
        self._inbox.put(lambda: self._add(batch, requests, params))
        return batch.done

    def load_weights(self, weights: Iterable[tuple[str, torch.Tensor]], version: int) -> None:
        """Sample with new weights; returns when they are in use. Raises what the engine raises."""
        gathered = list(weights)  # on this thread: ranks that hold weights in parts gather them together
        self._call(lambda: self._engine.load_weights(gathered, version), "load new weights")

    def set_num_threads(self, count: int) -> None:
        """Sample on `count` CPU threads from now on."""
        self._call(lambda: self._engine.set_num_threads(count), "change its number of threads")

    def sleep(self) -> None:
        """Free the engine's memory until `wake_up` or the next request, if it can and has no request."""
        self._call(self._sleep, "free its memory")

    def wake_up(self) -> None:
        """Let a sleeping engine take its memory again."""
        self._call(self._wake_up, "take its memory again")

    def abort_all(self) -> None:
        """Drop every unfinished request."""
        self._call(self._abort_all, "abort its requests")

    def wait(self, done: Future[None], purpose: str) -> None:
        """Wait for `done` while tokens keep coming. Raises AgnosticsError if none has come for 900 s."""
        while True:
            before = self._tokens
            try:
                return done.result(timeout=_TOKEN_TIMEOUT_S)
            except TimeoutError:
                if self._tokens == before:
                    raise AgnosticsError(
                        f"the engine did not {purpose} within {_TOKEN_TIMEOUT_S:.0f} s; continue with --resume"
                    ) from None

    def _call(self, action: Callable[[], None], purpose: str) -> None:
        done = Future[None]()
        self._inbox.put(lambda: _resolve(done, action))
        self.wait(done, purpose)

    # The methods below run on the engine's thread.

    def _run(self) -> None:
        while not self._closed:
            for action in self._received(wait=not self._engine.has_unfinished_requests):
                action()
            if self._engine.has_unfinished_requests:
                with self._spans.during("generation", "generate"):
                    finished = self._sample_tokens()
                self._finish(finished)  # what waits for them begins after the span

    def _sample_tokens(self) -> list[tuple[int, Completion]]:
        """Sample up to _TOKENS_PER_SPAN tokens, until a request is finished or the inbox holds something."""
        finished = list[tuple[int, Completion]]()
        for _ in range(_TOKENS_PER_SPAN):
            finished = self._step()
            if finished or not self._engine.has_unfinished_requests or not self._inbox.empty():
                break
        return finished

    def _received(self, *, wait: bool) -> Iterator[Callable[[], None]]:
        """The actions in the inbox; with `wait` at least one."""
        if wait:
            yield self._inbox.get()
        while not self._closed:
            try:
                yield self._inbox.get_nowait()
            except Empty:
                return

    def _add(self, batch: _Batch, requests: Sequence[CompletionRequest], params: SamplingParams) -> None:
        try:
            self._wake_up()  # an engine that sleeps would never complete them
            for index, request in enumerate(requests):
                self._engine.add_request(self._next_id, request, params)
                self._requests[self._next_id] = (batch, index)
                self._next_id += 1
        except Exception as error:
            self._fail(error)
            if not batch.done.done():
                batch.done.set_exception(error)

    def _step(self) -> list[tuple[int, Completion]]:
        """Sample a token: the requests that are finished by it. An error fails every unfinished request."""
        try:
            finished = self._engine.step()
            self._tokens += 1
            return finished
        except Exception as error:
            self._fail(error)
            return []

    def _finish(self, finished: Sequence[tuple[int, Completion]]) -> None:
        """Hand on what is finished; an error fails every unfinished request."""
        try:
            for request_id, completion in finished:
                batch, index = self._requests[request_id]
                batch.on_finished(index, completion)
                del self._requests[request_id]
                batch.unfinished -= 1
                if not batch.unfinished:
                    batch.done.set_result(None)
        except Exception as error:
            self._fail(error)

    def _fail(self, error: Exception) -> None:
        for batch, _ in self._requests.values():
            if not batch.done.done():
                batch.done.set_exception(error)
        self._requests.clear()
        with suppress(Exception):  # an engine that is gone cannot abort
            self._engine.abort_all()

    def _sleep(self) -> None:
        if not self._requests and isinstance(self._engine, SupportsSleep):
            self._asleep = self._engine
            self._asleep.sleep()

    def _wake_up(self) -> None:
        engine, self._asleep = self._asleep, None
        if engine:
            engine.wake_up()

    def _abort_all(self) -> None:
        self._engine.abort_all()
        self._requests.clear()

    def _close(self) -> None:
        self._closed = True
        with suppress(Exception):
            self._engine.abort_all()


def _resolve(done: Future[None], action: Callable[[], None]) -> None:
    try:
        action()
    except Exception as error:
        done.set_exception(error)
    else:
        done.set_result(None)


@dataclass(frozen=True, slots=True)
class EngineSource:
    """Samples with an engine on its own thread."""

    engine: EngineLoop
    detokenizer: Detokenizer
    max_in_flight: int = 512

    @property
    def progress(self) -> int:
        """See `CompletionSource.progress`."""
        return self.engine.tokens

    def submit(self, requests: Sequence[ActionRequest], params: SamplingParams) -> list[Future[Action | None]]:
        """See `CompletionSource.submit`."""
        wanted = [
            CompletionRequest((*one.prompt.token_ids, *one.token_ids), one.seed, one.may_be_continued, one.conversation)
            for one in requests
        ]
        actions = [Future[Action | None]() for _ in wanted]
        for action in actions:
            action.set_running_or_notify_cancel()  # the engine goes on with what nobody waits for any more

        def sampled(index: int, completion: Completion) -> None:
            actions[index].set_result(self._action(wanted[index], completion))

        def ended(batch: Future[None]) -> None:
            error = batch.exception()
            for action in actions if error else ():
                if not action.done():
                    action.set_exception(error)

        self.engine.submit(wanted, params, sampled).add_done_callback(ended)
        return actions

    def _action(self, request: CompletionRequest, completion: Completion) -> Action:
        return Action(
            self.detokenizer.text(completion.token_ids),
            completion.finish_reason,
            len(completion.token_ids),
            completion.segment,
            computed_prompt_tokens=len(request.prompt_ids) - completion.num_cached_tokens,
        )
