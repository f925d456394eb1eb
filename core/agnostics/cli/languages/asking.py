"""Asking an endpoint many questions: how far it is, and what it costs."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from agnostics.cli.output import words
from agnostics.rollout.endpoint import Endpoint, Reply


class Asking:
    """Puts questions to `endpoint` and counts tokens: a bar on a terminal, else a line for each; the cost at the end.

    A context manager; the cost is told on stderr even where a question failed.
    """

    def __init__(self, endpoint: Endpoint, answer_tokens: int, expected: int) -> None:
        self.requests = self.prompt_tokens = self.completion_tokens = 0
        self._endpoint, self._answer_tokens, self._expected = endpoint, answer_tokens, expected
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
        words.print(f"cost: {self.requests} request{'s' * (self.requests != 1)}, {tokens}", markup=False)

    def __call__(self, question: str) -> Reply:
        """The answer to `question`; see `Endpoint.chat` for what it raises."""
        reply = self._endpoint.chat([{"role": "user", "content": question}], max_tokens=self._answer_tokens)
        self.requests += 1
        self.prompt_tokens += reply.prompt_tokens
        self.completion_tokens += reply.completion_tokens
        self._tell(reply)
        return reply

    def _tell(self, reply: Reply) -> None:
        self._expected = max(self._expected, self.requests)
        self._bar.update(self._task, completed=self.requests, total=self._expected)
        if self._bar.disable:
            tokens = f"{reply.prompt_tokens} + {reply.completion_tokens} tokens"
            words.print(f"request {self.requests} of {self._expected}: {tokens}", markup=False)
