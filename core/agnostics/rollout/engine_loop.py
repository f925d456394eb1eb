"""The sampler: an engine on a thread of its own, which goes on while the trainer learns from what it has answered."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Self

from agnostics.inference.engine import Answer, Engine, Prompt, Sampling
from agnostics.profiling.spans import Timeline
from agnostics.types.errors import AgnosticsError

if TYPE_CHECKING:
    import torch

_PATIENCE_S = 900.0
"""How long the engine may take for a token."""
_STRETCH = 64
"""Tokens in a row that are one span of the timeline."""

Ended = Callable[[int, Answer], None]
"""Told of an answer as it ends, with the index of its prompt, on the sampler's thread."""


@dataclass(slots=True)
class _Order:
    """Prompts that were asked together."""

    ended: Ended
    outstanding: int
    done: Future[None] = field(default_factory=Future)


class Sampler:
    """Answers prompts in the order in which they come, many at a time. A context manager.

    All that an engine does happens on one thread. New weights are taken up between two tokens.
    """

    def __init__(self, engine: Engine, timeline: Timeline) -> None:
        self._engine = engine
        self._timeline = timeline
        self._inbox: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self._orders: dict[int, tuple[_Order, int]] = {}
        self._next_key = 0
        self._tokens = 0
        self._closed = False
        self._thread = threading.Thread(target=self._run, name="agnostics-sampler", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._post(self._close)
        self._thread.join(timeout=_PATIENCE_S)

    def ask(self, prompts: Sequence[Prompt], sampling: Sampling, ended: Ended) -> Future[None]:
        """Have every prompt answered; the future is done when all are, and raises what went wrong."""
        order = _Order(ended, len(prompts))
        self._post(lambda: self._take(order, prompts, sampling))
        return order.done

    def load_weights(self, weights: Iterable[tuple[str, torch.Tensor]], version: int) -> None:
        """Go on with new weights; waits until they are in use. Raises what the engine raises."""
        done = Future[None]()
        gathered = list(weights)  # here: where ranks hold them in parts, they meet on this thread
        self._post(lambda: _settle(done, lambda: self._engine.load_weights(gathered, version)))
        self.wait(done, "take up new weights")

    @property
    def busy(self) -> bool:
        """Whether anything that it has taken up is not answered yet."""
        return bool(self._orders)

    def use_threads(self, count: int) -> None:
        """Sample on `count` threads of a processor from here on."""
        done = Future[None]()
        self._post(lambda: _settle(done, lambda: self._engine.use_threads(count)))
        self.wait(done, "change its threads")

    def drop(self) -> None:
        """Forget everything that is not answered yet."""
        done = Future[None]()
        self._post(lambda: _settle(done, self._forget))
        self.wait(done, "stop")

    def wait(self, done: Future[None], purpose: str) -> None:
        """Wait for `done`, as long as tokens keep coming. Raises AgnosticsError where none has come for long."""
        while True:
            before = self._tokens
            try:
                return done.result(timeout=_PATIENCE_S)
            except TimeoutError:
                if self._tokens == before:
                    raise AgnosticsError(
                        f"the engine did not {purpose} within {_PATIENCE_S:.0f} s; go on with: agn run --resume"
                    ) from None

    def _post(self, act: Callable[[], None]) -> None:
        self._inbox.put(act)

    # What follows runs on the sampler's thread.

    def _run(self) -> None:
        while not self._closed:
            for act in self._requests(wait=not self._engine.busy):
                act()
            if self._engine.busy:
                with self._timeline.during("generation", "generate"):
                    self._sample_a_stretch()

    def _sample_a_stretch(self) -> None:
        for _ in range(_STRETCH):
            self._advance()
            if not self._engine.busy or not self._inbox.empty():
                return

    def _requests(self, *, wait: bool) -> Iterator[Callable[[], None]]:
        """What was posted; where there is nothing to sample, at least one, and that is waited for."""
        if wait:
            yield self._inbox.get()
        while not self._closed:
            try:
                yield self._inbox.get_nowait()
            except Empty:
                return

    def _take(self, order: _Order, prompts: Sequence[Prompt], sampling: Sampling) -> None:
        try:
            for index, prompt in enumerate(prompts):
                self._engine.add(self._next_key, prompt, sampling)
                self._orders[self._next_key] = (order, index)
                self._next_key += 1
        except Exception as error:
            self._fail(error)
            if not order.done.done():
                order.done.set_exception(error)

    def _advance(self) -> None:
        """Sample a token; what goes wrong fails all that is outstanding."""
        try:
            ended = self._engine.advance()
            self._tokens += 1
            for key, answer in ended:
                order, index = self._orders.pop(key)
                order.ended(index, answer)
                order.outstanding -= 1
                if not order.outstanding:
                    order.done.set_result(None)
        except Exception as error:
            self._fail(error)

    def _fail(self, error: Exception) -> None:
        for order, _ in self._orders.values():
            if not order.done.done():
                order.done.set_exception(error)
        self._orders.clear()
        with suppress(Exception):  # an engine that is gone forgets nothing more
            self._engine.drop()

    def _forget(self) -> None:
        self._engine.drop()
        self._orders.clear()

    def _close(self) -> None:
        self._closed = True
        with suppress(Exception):
            self._engine.drop()


def _settle(done: Future[None], act: Callable[[], None]) -> None:
    try:
        act()
    except Exception as error:
        done.set_exception(error)
    else:
        done.set_result(None)
