"""Completion sources: their interface, and a model behind an endpoint; `engine_loop` has the inference engine."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Protocol, Self

from agnostics.inference.engine import SamplingParams
from agnostics.inference.openai_client import ContextExceeded, Endpoint
from agnostics.rollout.prompts import RenderedPrompt
from agnostics.types.rollout import Action


@dataclass(frozen=True, slots=True)
class SampleRequest:
    """A request for one rollout of a prompt: its number within the group, and the seed of its tokens."""

    prompt: RenderedPrompt
    sample: int
    seed: int
    step: int = 0
    """The training step that it belongs to; 0 outside of training."""


@dataclass(frozen=True, slots=True)
class ActionRequest:
    """A request for the next action of an episode: after its prompt come `token_ids`, or else `messages`."""

    prompt: RenderedPrompt
    seed: int
    token_ids: tuple[int, ...] = ()
    messages: tuple[dict[str, str], ...] = ()
    may_be_continued: bool = False
    """Whether the episode may go on after this action."""
    conversation: int | None = None
    """See `CompletionRequest.conversation`."""


class CompletionSource(Protocol):
    """Samples completions while others are verified."""

    @property
    def max_in_flight(self) -> int:
        """The number of requests that keep the source busy."""

    @property
    def progress(self) -> int:
        """A number that grows while the source samples."""

    def submit(self, requests: Sequence[ActionRequest], params: SamplingParams) -> list[Future[Action | None]]:
        """Sample an action for each request, or None if the model holds no more tokens; a future may raise an error."""


class EndpointSource:
    """Samples behind an endpoint, `max_in_flight` requests at a time. A context manager; leaving it waits for them."""

    def __init__(self, endpoint: Endpoint, max_in_flight: int) -> None:
        self.max_in_flight = max_in_flight
        self.progress = 0
        self._endpoint = endpoint
        self._threads = ThreadPoolExecutor(max_in_flight, thread_name_prefix="agnostics-endpoint")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self._threads.shutdown(cancel_futures=True)

    def submit(self, requests: Sequence[ActionRequest], params: SamplingParams) -> list[Future[Action | None]]:
        """See `CompletionSource.submit`."""
        return [self._threads.submit(self._next, request, params) for request in requests]

    def _next(self, request: ActionRequest, params: SamplingParams) -> Action | None:
        """The action; None after an earlier one, if the conversation has outgrown the model."""
        try:
            return self._sample(request, params)
        except ContextExceeded:
            if request.messages:
                return None
            raise
        finally:
            self.progress += 1

    def _sample(self, request: ActionRequest, params: SamplingParams) -> Action:
        task, text = request.prompt.task, request.prompt.text
        if task.prompt_format and task.prompt_format.stop is not None:
            reply = self._endpoint.complete(
                text, stop=params.stop, max_tokens=params.max_completion_tokens, temperature=params.temperature
            )
        else:
            reply = self._endpoint.chat(
                [*request.prompt.messages, *request.messages],
                max_tokens=params.max_completion_tokens,
                temperature=params.temperature,
            )
        return Action(reply.text, "length" if reply.truncated else "stop", reply.completion_tokens)
