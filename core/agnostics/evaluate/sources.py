"""Where answers come from: an engine, an endpoint, or a file. Each takes tasks as they come and keeps only a few."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from itertools import count, islice
from typing import Any

from agnostics.inference.engine import Answer, Engine, FinishReason, Prompt, Sampling, seed_for
from agnostics.inference.openai_client import Endpoint, EndpointCompletion
from agnostics.rollout.task_sampler import Question, ask
from agnostics.types.language import Language
from agnostics.types.task import Task

Wanted = tuple[Task, Sequence[int]]
"""A task, and the numbers of the answers to it that are wanted."""


@dataclass(frozen=True, slots=True)
class Answered:
    """One answer to a task, its length in tokens, and whether it ended by itself."""

    task: Task
    sample: int
    text: str
    tokens: int
    finish_reason: FinishReason


Source = Callable[[Iterable[Wanted], Language], Iterator[Answered]]
"""Answers what is wanted, asked in the words of a language, in any order."""


@dataclass(frozen=True)
class EngineSource:
    """Samples with an engine that has nothing else to do.

    Tasks with prompts of more than `longest` tokens are left out, and `left_out` is told of each.
    """

    engine: Engine
    tokenizer: Any
    sampling: Sampling
    seed: int
    longest: int
    waiting: int
    """How many answers are asked for at a time: what runs, and what is to run next."""
    left_out: Callable[[Task], None]

    def __call__(self, wanted: Iterable[Wanted], language: Language) -> Iterator[Answered]:
        """See `Source`."""
        prompts, keys, asked = self._prompts(wanted, language), count(), dict[int, tuple[Task, int]]()
        while True:
            for task, sample, prompt in islice(prompts, self.waiting - len(asked)):
                key = next(keys)
                asked[key] = (task, sample)
                self.engine.add(key, prompt, self._sampling_of(task))
            if not asked:
                return
            for key, answer in self.engine.advance():
                yield self._answered(*asked.pop(key), answer)

    def _sampling_of(self, task: Task) -> Sampling:
        return replace(self.sampling, stop=task.prompt_format.ends) if task.prompt_format else self.sampling

    def _prompts(self, wanted: Iterable[Wanted], language: Language) -> Iterator[tuple[Task, int, Prompt]]:
        for question, samples in self._questions(wanted, language):
            for sample in samples:
                # The seeds with which training measures held-out tasks: the same answers at the same temperature.
                seed = seed_for(f"{self.seed}/evaluation", question.task.id, sample)
                yield question.task, sample, Prompt(question.prompt, seed)

    def _questions(self, wanted: Iterable[Wanted], language: Language) -> Iterator[tuple[Question, Sequence[int]]]:
        for task, samples in wanted:
            question = ask(self.tokenizer, language, task)
            if len(question.prompt) <= self.longest:
                yield question, samples
            else:
                self.left_out(task)

    def _answered(self, task: Task, sample: int, answer: Answer) -> Answered:
        text = self.tokenizer.decode(answer.token_ids, skip_special_tokens=True)
        return Answered(task, sample, text, len(answer.token_ids), answer.finish_reason)


@dataclass(frozen=True)
class EndpointSource:
    """Samples behind an endpoint, `requests` at a time. Who leaves it early waits for the requests under way."""

    endpoint: Endpoint
    sampling: Sampling
    requests: int

    def __call__(self, wanted: Iterable[Wanted], language: Language) -> Iterator[Answered]:
        """See `Source`."""
        each = ((task, sample) for task, samples in wanted for sample in samples)
        with ThreadPoolExecutor(self.requests) as pool:
            asked = dict[Future[EndpointCompletion], tuple[Task, int]]()
            while True:
                more = islice(each, self.requests - len(asked))
                asked |= {pool.submit(self._ask, task, language): (task, sample) for task, sample in more}
                if not asked:
                    return
                for done in wait(asked, return_when=FIRST_COMPLETED).done:
                    yield _replied(*asked.pop(done), done.result())

    def _ask(self, task: Task, language: Language) -> EndpointCompletion:
        tokens, temperature = self.sampling.max_completion_tokens, self.sampling.temperature
        if task.prompt_format and task.prompt_format.stop is not None:
            stop = task.prompt_format.ends
            return self.endpoint.complete(task.statement, stop=stop, max_tokens=tokens, temperature=temperature)
        message = {"role": "user", "content": language.prompt_for(task)}
        return self.endpoint.chat([message], max_tokens=tokens, temperature=temperature)


def _replied(task: Task, sample: int, reply: EndpointCompletion) -> Answered:
    return Answered(task, sample, reply.text, reply.completion_tokens, "length" if reply.truncated else "stop")
