"""The source of an evaluation's rollouts: an engine, an endpoint, or a file of recorded completions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from agnostics.evaluate.recorded_source import recorded_rollouts
from agnostics.evaluate.settings import EvaluationSettings
from agnostics.inference.engine import EngineSettings, SamplingParams, seed_for
from agnostics.inference.openai_client import Endpoint
from agnostics.inference.provider import open_engine
from agnostics.models.loading import load_tokenizer, stop_ids
from agnostics.models.resolve import completion_room, resolve_model
from agnostics.plugins.manager import PluginManager
from agnostics.profiling.spans import SpanRecorder
from agnostics.rollout.collector import RolloutCollector
from agnostics.rollout.engine_loop import EngineLoop, EngineSource
from agnostics.rollout.prompts import ChatSettings, RenderedPrompt, render_prompt
from agnostics.rollout.rollout_verifier import RolloutVerifier
from agnostics.rollout.sources import CompletionSource, EndpointSource, SampleRequest
from agnostics.types.errors import UsageError
from agnostics.types.language import Language
from agnostics.types.rollout import Rollout
from agnostics.types.task import Task
from agnostics.verify import Verifier

Wanted = tuple[Task, Sequence[int]]
"""A task, and the numbers of its samples that are wanted."""
Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class SampledRollouts:
    """Samples rollouts in the words of a language, and has their programs verified in it."""

    settings: EvaluationSettings
    collector: RolloutCollector
    render: Callable[[Language, Task], RenderedPrompt | None]
    """The prompt of a task; None if it is too long."""

    def verified(self, wanted: Iterable[Wanted], language: Language) -> Iterator[Rollout]:
        """The verified rollouts, in any order."""
        requests = self._requests(wanted, language)
        return self.collector.stream(requests, self._params, stop_on_failure=not self.settings.vote)

    def sampled(self, wanted: Iterable[Wanted], language: Language) -> Iterator[Rollout]:
        """The rollouts without verification, in any order."""
        return self.collector.stream(self._requests(wanted, language), self._params, verify=False)

    def _requests(self, wanted: Iterable[Wanted], language: Language) -> Iterator[SampleRequest]:
        for task, samples in wanted:
            if prompt := self.render(language, task):
                for sample in samples:
                    # The seeds of the trainer's evaluation: the same completions at the same temperature.
                    seed = seed_for(f"{self.settings.seed}/evaluation", task.id, sample)
                    yield SampleRequest(prompt, sample, seed)

    def _params(self, task: Task) -> SamplingParams:
        params = SamplingParams(self.settings.temperature, self.settings.max_completion_tokens)
        return replace(params, stop=task.prompt_format.ends) if task.prompt_format else params


@dataclass(frozen=True, slots=True)
class RecordedRollouts:
    """Verifies recorded completions, all of them, however they were sampled."""

    settings: EvaluationSettings
    verifier: RolloutVerifier
    done: Mapping[str, frozenset[int]]

    def verified(self, wanted: Iterable[Wanted], language: Language) -> Iterator[Rollout]:
        """The verified rollouts, in any order."""
        recorded = recorded_rollouts(Path(str(self.settings.completions)), (task for task, _ in wanted), self.done)
        programs = ((rollout, language.program_for(rollout.task, rollout.text)) for rollout in recorded)
        return self.verifier.stream(programs, stop_on_failure=not self.settings.vote)


@contextmanager
def open_source(
    settings: EvaluationSettings,
    plugins: PluginManager,
    language: Language,
    verifier: Verifier,
    key: str | None,
    done: Mapping[str, frozenset[int]],
    say: Say,
) -> Iterator[SampledRollouts | RecordedRollouts]:
    """The source that the settings name. `key` is the endpoint's; `done` are the samples that are stored already."""
    rollout_verifier = RolloutVerifier(language, verifier, strips_reasoning=settings.chat.thinking)
    if settings.completions:
        if not Path(settings.completions).is_file():
            raise UsageError(f"{settings.completions}: no such file")
        yield RecordedRollouts(settings, rollout_verifier, done)
    elif settings.endpoint:
        with (
            Endpoint(settings.endpoint, settings.model, key) as endpoint,
            EndpointSource(endpoint, settings.max_concurrency) as source,
        ):
            collector = RolloutCollector(source, rollout_verifier)
            yield SampledRollouts(settings, collector, lambda words, task: _message(words, task, settings.chat))
    else:
        with _open_engine_source(settings, plugins, say) as (source, render):
            yield SampledRollouts(settings, RolloutCollector(source, rollout_verifier), render)


def _message(language: Language, task: Task, chat: ChatSettings) -> RenderedPrompt:
    return RenderedPrompt(task, chat.message(language, task), system=chat.system)


@contextmanager
def _open_engine_source(
    settings: EvaluationSettings, plugins: PluginManager, say: Say
) -> Iterator[tuple[CompletionSource, Callable[[Language, Task], RenderedPrompt | None]]]:
    """An engine with the model of the settings, and the rendering of prompts for it."""
    folder = resolve_model(settings.model, plugins, settings.language, sandbox=settings.sandbox, say=say)
    tokenizer = load_tokenizer(folder)
    longest = min(settings.max_prompt_tokens, completion_room(folder, settings.max_completion_tokens))
    engine_settings = EngineSettings(
        folder=folder,
        stop_ids=stop_ids(folder, tokenizer),
        max_length=longest + settings.max_completion_tokens,
        max_num_seqs=settings.max_num_seqs,
        dtype=settings.dtype,
        kv_cache_gib=settings.kv_cache_gib,
        tensor_parallel_size=settings.tensor_parallel_size,
        cuda_graphs=settings.cuda_graphs,
        chunked_prefill=settings.chunked_prefill,
        detokenize=True,
    )
    say(f"loading {folder} into {settings.engine}")
    with (
        open_engine(
            settings.engine,
            engine_settings,
            separate_process=settings.engine_processes > 1,
            processes=settings.engine_processes,
            beside_trainer=False,
            providers=plugins.engines(),
        ) as engine,
        EngineLoop(engine, SpanRecorder()) as loop,
    ):
        source = EngineSource(loop, tokenizer, 2 * settings.max_num_seqs * settings.engine_processes)
        yield source, lambda language, task: _render(tokenizer, language, task, settings.chat, longest, say)


def _render(
    tokenizer: Any, language: Language, task: Task, chat: ChatSettings, longest: int, say: Say
) -> RenderedPrompt | None:
    prompt = render_prompt(tokenizer, language, task, chat)
    if len(prompt.token_ids) <= longest:
        return prompt
    say(f"task {task.id} is left out: more than {longest} tokens")
    return None
