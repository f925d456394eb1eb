"""The source of an evaluation's rollouts: an engine, an endpoint, or a file of recorded completions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Self

from agnostics.environments.environment import Environment, EpisodeLimits
from agnostics.environments.settings import configured_environment, max_length
from agnostics.environments.tools.form import CallForm
from agnostics.evaluate.recorded_source import recorded_rollouts
from agnostics.evaluate.settings import EvaluationSettings
from agnostics.inference.engine import EngineSettings, SamplingParams, seed_for
from agnostics.inference.openai_client import Endpoint
from agnostics.inference.provider import open_engine
from agnostics.models.loading import context_length, load_tokenizer, stop_ids
from agnostics.models.resolve import completion_room, resolve_model
from agnostics.plugins.manager import PluginManager
from agnostics.profiling.spans import SpanRecorder
from agnostics.rollout.collector import RolloutCollector
from agnostics.rollout.conversation import ConversationRenderer
from agnostics.rollout.detokenizer import Detokenizer
from agnostics.rollout.engine_loop import EngineLoop, EngineSource
from agnostics.rollout.episode_loop import EpisodeLoop
from agnostics.rollout.episode_sandboxes import EpisodeSandboxes
from agnostics.rollout.prompts import RenderedPrompt, call_form_of, prompt_of, render_prompt
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
    call_form: CallForm
    """The form in which the model calls tools."""

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
    call_form: CallForm = "text"

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
    environment = configured_environment(plugins.environment(settings.environment), settings.environment_options)
    environment.check_requirements()
    sandboxes = EpisodeSandboxes(settings.sandbox, plugins.sandboxes())
    if settings.completions:
        if not Path(settings.completions).is_file():
            raise UsageError(f"{settings.completions}: no such file")
        yield RecordedRollouts(settings, rollout_verifier, done)
    elif settings.endpoint:
        limits = settings.episode.within(environment.limits, environment.limits.max_context_tokens)
        with (
            Endpoint(settings.endpoint, settings.model, key) as endpoint,
            EndpointSource(endpoint, settings.max_concurrency) as remote,
            EpisodeLoop(remote, environment, rollout_verifier, limits, sandboxes=sandboxes) as episodes,
        ):
            form: CallForm = "text"
            render = partial(prompt_of, chat=settings.chat, environment=environment, call_form=form)
            yield SampledRollouts(settings, RolloutCollector(episodes), render, form)
    else:
        model = _Model.find(settings, plugins, environment, say)
        with (
            model.open_engine(plugins, say) as source,
            EpisodeLoop(source, environment, rollout_verifier, model.limits, model.renderer, sandboxes) as episodes,
        ):
            render_known = partial(model.render, say=say)
            yield SampledRollouts(settings, RolloutCollector(episodes), render_known, call_form_of(model.tokenizer))


@dataclass(frozen=True, slots=True)
class _Model:
    """The model of an evaluation on this machine."""

    settings: EvaluationSettings
    environment: Environment[Any]
    folder: Path
    tokenizer: Any
    longest_prompt: int
    limits: EpisodeLimits

    @classmethod
    def find(
        cls, settings: EvaluationSettings, plugins: PluginManager, environment: Environment[Any], say: Say
    ) -> Self:
        """The model that the settings name. Raises UsageError if there is none."""
        folder = resolve_model(settings.model, plugins, settings.language, sandbox=settings.sandbox, say=say)
        limits = settings.episode.within(environment.limits, context_length(folder))
        room = completion_room(folder, settings.max_completion_tokens)
        return cls(
            settings,
            environment,
            folder,
            load_tokenizer(folder),
            min(settings.max_prompt_tokens, room, limits.max_prompt_tokens),
            limits,
        )

    @property
    def renderer(self) -> ConversationRenderer:
        """The renderer of observations."""
        return ConversationRenderer(self.tokenizer, self.settings.chat, stop_ids(self.folder, self.tokenizer))

    @contextmanager
    def open_engine(self, plugins: PluginManager, say: Say) -> Iterator[CompletionSource]:
        """An engine with the model, as a source."""
        settings = self.settings
        engine_settings = EngineSettings(
            folder=self.folder,
            stop_ids=stop_ids(self.folder, self.tokenizer),
            max_length=max_length(self.limits, self.longest_prompt, settings.max_completion_tokens),
            max_num_seqs=settings.max_num_seqs,
            dtype=settings.dtype,
            kv_cache_gib=settings.kv_cache_gib,
            tensor_parallel_size=settings.tensor_parallel_size,
            cuda_graphs=settings.cuda_graphs,
            chunked_prefill=settings.chunked_prefill,
            detokenize=True,
        )
        say(f"loading {self.folder} into {settings.engine}")
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
            max_in_flight = 2 * settings.max_num_seqs * settings.engine_processes
            yield EngineSource(loop, Detokenizer(self.tokenizer), max_in_flight)

    def render(self, language: Language, task: Task, say: Say) -> RenderedPrompt | None:
        """The prompt of a task; None if it is too long."""
        prompt = render_prompt(self.tokenizer, language, task, self.settings.chat, self.environment)
        if len(prompt.token_ids) <= self.longest_prompt:
            return prompt
        say(f"task {task.id} is left out: more than {self.longest_prompt} tokens")
        return None
