"""Asking an endpoint many questions: how it is named, how far it is, what it costs, and what was asked before."""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from types import TracebackType
from typing import Any, Self, TypeVar

import click
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from agnostics.cli.output import words
from agnostics.inference.openai_client import Endpoint, Reply
from agnostics.inference.response_cache import AnswerCache
from agnostics.types.errors import UsageError

T = TypeVar("T")
R = TypeVar("R")
Command = TypeVar("Command", bound=Callable[..., Any])

_KEY = "OPENAI_API_KEY"
_OPTIONS = (
    click.option("--model", required=True, help="The capable model, as the endpoint calls it."),
    click.option(
        "--endpoint", "url", required=True, envvar="OPENAI_BASE_URL", help="An OpenAI-compatible URL, with /v1."
    ),
    click.option("--key-from", default=_KEY, show_default=True, help="The variable that holds the key, if any."),
    click.option(
        "--timeout", "timeout_s", default=600.0, show_default=True, type=click.FloatRange(min=1), help="Seconds."
    ),
    click.option(
        "--retries", default=5, show_default=True, type=click.IntRange(min=0), help="Of a request that failed."
    ),
)

concurrency_option = click.option(
    "--concurrency", default=8, show_default=True, type=click.IntRange(min=1), help="How many requests run at once."
)
answer_tokens_option = click.option(
    "--answer-tokens", default=8192, show_default=True, type=click.IntRange(min=1), help="How long an answer may be."
)


def endpoint_options(command: Command) -> Command:
    """The options that name an endpoint: `model`, `url`, `key_from`, `timeout_s` and `retries`."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def open_endpoint(key_from: str, **options: Any) -> Endpoint:
    """The endpoint that the options name. Raises UsageError where there is no such key."""
    key = os.environ.get(key_from)
    if key is None and key_from != _KEY:
        raise UsageError(f"--key-from {key_from}: that variable is not set; export {key_from}=KEY")
    return Endpoint(key=key, **options)


class Asking:
    """Puts questions to `endpoint` and counts tokens: a bar on a terminal, else a line for each; the cost at the end.

    What `answers` holds costs nothing. A context manager for several threads; the cost is told on stderr even where a
    question failed.
    """

    def __init__(
        self, endpoint: Endpoint, answer_tokens: int, expected: int, answers: AnswerCache | None = None
    ) -> None:
        self.requests = self.prompt_tokens = self.completion_tokens = self.known = 0
        self._endpoint, self._answer_tokens, self._expected = endpoint, answer_tokens, expected
        self._answers, self._lock = answers, threading.Lock()
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        self._bar = Progress(*columns, console=words, transient=True, disable=not words.is_terminal)
        self._task = self._bar.add_task(f"asking {endpoint.model}", total=expected)

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._bar.stop()
        tokens = f"{self.prompt_tokens} prompt tokens, {self.completion_tokens} completion tokens"
        known = f"; {self.known} answered before" if self.known else ""
        words.print(f"cost: {self.requests} request{'s' * (self.requests != 1)}, {tokens}{known}", markup=False)

    @property
    def costs(self) -> dict[str, int]:
        """What was asked, as JSON."""
        names = ("requests", "prompt_tokens", "completion_tokens")
        return {name: getattr(self, name) for name in names}

    def __call__(self, question: str) -> Reply:
        """The answer to `question`; see `Endpoint.chat` for what it raises."""
        known = self._answers and self._answers.get(question)
        if known:
            self._count_known()
            return known
        reply = self._endpoint.chat([{"role": "user", "content": question}], max_tokens=self._answer_tokens)
        if self._answers:
            self._answers.put(question, reply)
        self._count(reply)
        return reply

    def _count_known(self) -> None:
        with self._lock:
            self.known += 1
            self._advance()

    def _count(self, reply: Reply) -> None:
        with self._lock:
            self.requests += 1
            self.prompt_tokens += reply.prompt_tokens
            self.completion_tokens += reply.completion_tokens
            self._advance()
            if self._bar.disable:
                tokens = f"{reply.prompt_tokens} + {reply.completion_tokens} tokens"
                words.print(f"request {self.requests} of {self._expected - self.known}: {tokens}", markup=False)

    def _advance(self) -> None:
        done = self.requests + self.known
        self._expected = max(self._expected, done)
        self._bar.update(self._task, completed=done, total=self._expected)


def side_by_side(act: Callable[[T], R], things: Iterable[T], threads: int) -> list[R]:
    """What `act` makes of each of `things`, in their order, `threads` at a time.

    What it raises, and an interrupt, ends the rest: those not begun are not, and nobody waits for those under way.
    """
    waiting = deque((thing, Future[R]()) for thing in things)
    futures = [future for _, future in waiting]

    def work() -> None:
        while waiting:
            try:
                thing, future = waiting.popleft()
            except IndexError:  # another thread was quicker
                return
            try:
                future.set_result(act(thing))
            except BaseException as error:
                waiting.clear()
                future.set_exception(error)

    for _ in range(threads):  # daemons, unlike those of an executor: a silent server keeps no process alive
        threading.Thread(target=work, name="agnostics-asking", daemon=True).start()
    try:
        return [future.result() for future in futures]
    finally:
        waiting.clear()
