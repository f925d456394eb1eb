"""Requests to an endpoint from commands: its options, progress, cost, cache and concurrency."""

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

from agnostics.cli.output import console
from agnostics.inference.openai_client import Endpoint, EndpointCompletion
from agnostics.inference.response_cache import ResponseCache
from agnostics.types.errors import UsageError
from agnostics.util.text import plural

T = TypeVar("T")
R = TypeVar("R")
Command = TypeVar("Command", bound=Callable[..., Any])

_KEY = "OPENAI_API_KEY"
_OPTIONS = (
    click.option("--model", required=True, help="The capable model, by its name at the endpoint."),
    click.option(
        "--endpoint", "url", required=True, envvar="OPENAI_BASE_URL", help="An OpenAI-compatible URL, with /v1."
    ),
    click.option("--key-from", default=_KEY, show_default=True, help="The environment variable with the key."),
    click.option(
        "--timeout",
        "timeout_s",
        default=600.0,
        show_default=True,
        type=click.FloatRange(min=1),
        help="Seconds to wait.",
    ),
    click.option(
        "--retries", default=5, show_default=True, type=click.IntRange(min=0), help="Retries of a failed request."
    ),
)

concurrency_option = click.option(
    "--concurrency", default=8, show_default=True, type=click.IntRange(min=1), help="Concurrent requests."
)
max_completion_tokens_option = click.option(
    "--max-completion-tokens",
    default=8192,
    show_default=True,
    type=click.IntRange(min=1),
    help="Tokens of a completion.",
)


def endpoint_options(command: Command) -> Command:
    """The options that name an endpoint: `model`, `url`, `key_from`, `timeout_s` and `retries`."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def open_endpoint(key_from: str, **options: Any) -> Endpoint:
    """The endpoint that the options name. Raises UsageError if the variable of --key-from is not set."""
    key = os.environ.get(key_from)
    if key is None and key_from != _KEY:
        raise UsageError(f"--key-from {key_from}: that variable is not set; export {key_from}=KEY")
    return Endpoint(key=key, **options)


class EndpointSession:
    """Sends prompts to `endpoint` and counts tokens; shows a progress bar on a terminal, else a line per request.

    Completions in `cache` cost nothing. A context manager, safe for several threads, that prints the cost to stderr at
    the end, even after an error.
    """

    def __init__(
        self, endpoint: Endpoint, max_completion_tokens: int, expected: int, cache: ResponseCache | None = None
    ) -> None:
        self.requests = self.prompt_tokens = self.completion_tokens = self.cached = 0
        self._endpoint, self._max_completion_tokens, self._expected = endpoint, max_completion_tokens, expected
        self._cache, self._lock = cache, threading.Lock()
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        self._bar = Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
        self._task = self._bar.add_task(f"requests to {endpoint.model}", total=expected)

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._bar.stop()
        tokens = f"{self.prompt_tokens} prompt tokens, {self.completion_tokens} completion tokens"
        cached = f"; {self.cached} from the cache" if self.cached else ""
        console.print(f"cost: {plural(self.requests, 'request')}, {tokens}{cached}", markup=False)

    @property
    def costs(self) -> dict[str, int]:
        """The cost as JSON."""
        names = ("requests", "prompt_tokens", "completion_tokens")
        return {name: getattr(self, name) for name in names}

    def complete(self, prompt: str) -> EndpointCompletion:
        """The completion of `prompt`; see `Endpoint.chat` for errors."""
        cached = self._cache and self._cache.get(prompt)
        if cached:
            self._count_cached()
            return cached
        completion = self._endpoint.chat([{"role": "user", "content": prompt}], max_tokens=self._max_completion_tokens)
        if self._cache:
            self._cache.put(prompt, completion)
        self._count(completion)
        return completion

    def _count_cached(self) -> None:
        with self._lock:
            self.cached += 1
            self._update_bar()

    def _count(self, completion: EndpointCompletion) -> None:
        with self._lock:
            self.requests += 1
            self.prompt_tokens += completion.prompt_tokens
            self.completion_tokens += completion.completion_tokens
            self._update_bar()
            if self._bar.disable:
                tokens = f"{completion.prompt_tokens} + {completion.completion_tokens} tokens"
                console.print(f"request {self.requests} of {self._expected - self.cached}: {tokens}", markup=False)

    def _update_bar(self) -> None:
        done = self.requests + self.cached
        self._expected = max(self._expected, done)
        self._bar.update(self._task, completed=done, total=self._expected)


def map_concurrently(function: Callable[[T], R], items: Iterable[T], threads: int) -> list[R]:
    """`function` of each of `items`, in order, computed by `threads` threads.

    An exception of `function` or an interrupt stops the rest: no further item is started, and those in progress are
    not waited for.
    """
    waiting = deque((item, Future[R]()) for item in items)
    futures = [future for _, future in waiting]

    def work() -> None:
        while waiting:
            try:
                item, future = waiting.popleft()
            except IndexError:  # another thread took the last one
                return
            try:
                future.set_result(function(item))
            except BaseException as error:
                waiting.clear()
                future.set_exception(error)

    for _ in range(threads):  # daemons, unlike an executor's: a silent server keeps no process alive
        threading.Thread(target=work, name="agnostics-requests", daemon=True).start()
    try:
        return [future.result() for future in futures]
    finally:
        waiting.clear()
