"""Completion sources: their interface, and a model behind an endpoint; `engine_loop` has the inference engine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Protocol, Self

from agnostics.inference.engine import SamplingParams
from agnostics.inference.openai_client import Endpoint
from agnostics.rollout.prompts import RenderedPrompt
from agnostics.types.rollout import Rollout


@dataclass(frozen=True, slots=True)
class SampleRequest:
    """A request for one completion of a prompt: its number within the group, and the seed of its tokens."""

    prompt: RenderedPrompt
    sample: int
    seed: int


OnSampled = Callable[[int, Rollout], None]
"""Called with the index of a request and its rollout, not verified yet, as it is sampled; on a thread of the source."""


class CompletionSource(Protocol):
    """Samples completions while others are verified."""

    @property
    def max_in_flight(self) -> int:
        """The number of requests that keep the source busy."""

    def submit(self, requests: Sequence[SampleRequest], params: SamplingParams, on_sampled: OnSampled) -> Future[None]:
        """Sample every request; the future is done when all are, and raises what went wrong."""

    def wait(self, sampled: Future[None]) -> None:
        """Wait for a future of `submit`. Raises AgnosticsError if the source makes no progress."""


class EndpointSource:
    """Samples behind an endpoint, `max_in_flight` requests at a time. A context manager; leaving it waits for them."""

    def __init__(self, endpoint: Endpoint, max_in_flight: int) -> None:
        self.max_in_flight = max_in_flight
        self._endpoint = endpoint
        self._threads = ThreadPoolExecutor(max_in_flight, thread_name_prefix="agnostics-endpoint")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self._threads.shutdown(cancel_futures=True)

    def submit(self, requests: Sequence[SampleRequest], params: SamplingParams, on_sampled: OnSampled) -> Future[None]:
        """See `CompletionSource.submit`."""

        def sample(index: int, request: SampleRequest) -> None:
            on_sampled(index, self._sample(request, params))

        def wait_for_all() -> None:
            for reply in replies:
                reply.result()

        replies = [self._threads.submit(sample, index, request) for index, request in enumerate(requests)]
        return replies[0] if len(replies) == 1 else self._threads.submit(wait_for_all)

    def wait(self, sampled: Future[None]) -> None:
        """See `CompletionSource.wait`; each request has a timeout of its own."""
        sampled.result()

    def _sample(self, request: SampleRequest, params: SamplingParams) -> Rollout:
        task, text = request.prompt.task, request.prompt.text
        if task.prompt_format and task.prompt_format.stop is not None:
            reply = self._endpoint.complete(
                text, stop=params.stop, max_tokens=params.max_completion_tokens, temperature=params.temperature
            )
        else:
            reply = self._endpoint.chat(
                request.prompt.messages, max_tokens=params.max_completion_tokens, temperature=params.temperature
            )
        return Rollout(
            task=task,
            sample=request.sample,
            finish_reason="stop" if not reply.truncated else "length",
            text=reply.text,
            num_tokens=reply.completion_tokens,
        )
