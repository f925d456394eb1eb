"""The failed programs of a model: those of a run in the store, or of completions that are sampled now."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import Literal

from agnostics.cli.libraries import configure_libraries, training_packages
from agnostics.cli.output import console
from agnostics.plugins.manager import PluginManager
from agnostics.types.errors import UsageError
from agnostics.types.failed_program import FailedProgram, failed_program_of
from agnostics.types.language import Language
from agnostics.types.task import Task

SAMPLES, TEMPERATURE, MAX_COMPLETION_TOKENS, MAX_NUM_SEQS = 4, 0.7, 1024, 64
"""Completions of each task, their sampling (section 3.3), their maximum length, and how many are sampled at a time."""


@dataclass(frozen=True)
class Source:
    """Either a run of the store, or a model with a data set, as the options of the command name them."""

    run: str | None
    store: str | None
    sample: str | None
    dataset: str | None
    tasks: int
    engine: Literal["vllm", "transformers"]
    sandbox: str

    def __post_init__(self) -> None:
        if (self.run is None) == (self.sample is None):
            raise UsageError("name the faulty programs: either --run RUN (last), or --sample MODEL --dataset D")
        if (self.sample is None) != (self.dataset is None):
            raise UsageError("--sample and --dataset go together: a model, and the tasks that it is to attempt")

    def faults(self, language: Language, plugins: PluginManager) -> list[FailedProgram]:
        """The faulty programs in `language`. Raises UsageError where there are none."""
        found = _stored(self.run, self.store, language) if self.run else self._sampled(language, plugins)
        if not found:
            where = f"run {self.run}" if self.run else f"the answers of {self.sample}"
            raise UsageError(f"{where}: no faulty program in {language.name}; name another run, or sample more --tasks")
        return found

    def _sampled(self, language: Language, plugins: PluginManager) -> list[FailedProgram]:
        """The failed programs among the model's completions of some training tasks."""
        tasks = self._training_tasks(plugins)
        configure_libraries()
        with training_packages():
            return self._attempts(language, tasks, plugins)

    def _training_tasks(self, plugins: PluginManager) -> list[Task]:
        adapter, source = plugins.dataset(str(self.dataset))
        if adapter.evaluation_only:
            raise UsageError(
                f"data set {adapter.name!r} is for evaluation only ({adapter.license}): advice for training may not "
                "come from it"
            )
        return list(islice(adapter.tasks("train", source=source), self.tasks))

    def _attempts(self, language: Language, tasks: list[Task], plugins: PluginManager) -> list[FailedProgram]:
        from agnostics.inference.engine import EngineSettings, SamplingParams
        from agnostics.inference.provider import open_engine
        from agnostics.models.loading import context_length, load_tokenizer, stop_ids
        from agnostics.models.resolve import resolve_model
        from agnostics.rollout.collector import open_collector
        from agnostics.rollout.prompts import ChatSettings, render_prompts
        from agnostics.verify import Verifier

        folder = resolve_model(str(self.sample), plugins, language.name, sandbox=self.sandbox, say=console.print)
        tokenizer = load_tokenizer(folder)
        context = context_length(folder)
        max_tokens = min(MAX_COMPLETION_TOKENS, context // 2)
        prompts, _ = render_prompts(tokenizer, language, tasks, context - max_tokens, ChatSettings())
        longest = max(len(prompt.token_ids) for prompt in prompts)
        settings = EngineSettings(folder, stop_ids(folder, tokenizer), longest + max_tokens, MAX_NUM_SEQS)
        console.print(f"sampling {len(prompts) * SAMPLES} programs", markup=False)
        with (
            Verifier(self.sandbox, languages=plugins.languages(), backends=plugins.sandboxes()) as verifier,
            open_engine(self.engine, settings, providers=plugins.engines()) as engine,
            open_collector(engine, tokenizer, language, verifier) as collector,
        ):
            batch = collector.collect(prompts, SAMPLES, SamplingParams(TEMPERATURE, max_tokens), "advise")
        return [fault for rollout in batch.rollouts if (fault := failed_program_of(rollout.verified))]


def _stored(run: str, store: str | None, language: Language) -> list[FailedProgram]:
    from agnostics.store.database import default_url, reading
    from agnostics.store.queries.failed_programs import distinct_failed_programs
    from agnostics.store.queries.runs import find_run, run_summary
    from agnostics.store.store import Store

    with Store.open(store or default_url(), create=False) as opened, reading(opened.engine) as connection:
        line = run_summary(connection, find_run(connection, run))
        if line.language != language.name:
            raise UsageError(
                f"run {line.run} is in {line.language}, not in {language.name}; agn results list shows all"
            )
        return distinct_failed_programs(connection, line.run)
