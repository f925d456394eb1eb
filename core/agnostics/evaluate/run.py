"""One evaluation from beginning to end: answers are sampled or read, verified, and stored."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Protocol

from agnostics.evaluate.generated_tests import Examination
from agnostics.evaluate.pipeline import Judging
from agnostics.evaluate.recorded_source import RecordedSource
from agnostics.evaluate.settings import EvaluationSettings
from agnostics.evaluate.sources import EndpointSource, EngineSource, Source, Wanted
from agnostics.inference.engine import EngineSettings, Sampling, open_engine
from agnostics.inference.openai_client import Endpoint
from agnostics.models.resolve import answer_limits, model_folder
from agnostics.plugins.manager import PluginManager
from agnostics.rollout.task_sampler import in_turns
from agnostics.store import Store
from agnostics.store.database import naming, reading
from agnostics.store.queries.evaluations import stored_samples
from agnostics.store.store import Status
from agnostics.types.errors import UsageError, unknown_name_error
from agnostics.types.language import Language
from agnostics.types.task import Task
from agnostics.types.verification import Verdict, Verification
from agnostics.verify import Verifier


class Reporter(Protocol):
    """Tells people how an evaluation goes."""

    def say(self, text: str) -> None:
        """Say something about what is going on."""

    def judged(self, accepted: int, programs: int, expected: int | None) -> None:
        """Tell how many programs were judged so far and how many accepted, of how many where that is known.

        It is called on several threads, one at a time.
        """


def evaluate(
    settings: EvaluationSettings,
    plugins: PluginManager,
    store: Store,
    reporter: Reporter,
    key: str | None,
    run: str | None = None,
) -> str:
    """Evaluate a model as `settings` say, or go on with the evaluation `run`; returns the run's id.

    `key` is the endpoint's. Ctrl-C leaves the run as interrupted, with all that was verified. Raises AgnosticsError
    for expected failures; the run is then stored as failed, and can be resumed too.
    """
    language = settings.spoken(plugins.language(settings.language))
    done = _stored(store, run)
    tasks, total = chosen_tasks(settings, plugins)
    expected = None if total is None or settings.completions else total * settings.samples
    progress = _Progress(reporter, plugins, expected, done)
    with (
        Verifier(settings.sandbox, languages=plugins.languages()) as verifier,
        _source(settings, plugins, reporter, key, done) as source,
        _started(store, _entered(store, settings, language, run), progress) as name,
        store.recorder(name) as recorder,
    ):
        judges = partial(Judging, verifier, language, recorder)
        with judges(progress.judged, phase="eval", every_test=settings.vote) as judging:
            for answered in source(_wanted(tasks, settings, done), language):
                judging.judge(answered, language.program_for(answered.task, answered.text))
        if settings.written_tests:
            reporter.say("asking the model for tests of its own")
            recorder.flush()
            tasks, _ = chosen_tasks(settings, plugins)
            with judges(progress.examined, phase="eval_written", every_test=True) as judging:
                examination = Examination(store, name, judging, settings.written_tests)
                examined = examination.hold(tasks, source, language)
            reporter.say(f"the model has written tests to {examined} task{'' if examined == 1 else 's'}")
    return name


def chosen_tasks(settings: EvaluationSettings, plugins: PluginManager) -> tuple[Iterable[Task], int | None]:
    """The tasks as they come, or some of them, drawn as training draws held-out ones; and how many, where known.

    To draw some, the data set is read twice, so that no more than one task is held. Raises UsageError for an unknown
    data set or split.
    """
    adapter, source = plugins.dataset(settings.dataset)
    if settings.split not in adapter.splits:
        raise unknown_name_error(f"split of {adapter.name}", settings.split, adapter.splits)
    read = partial(adapter.tasks, settings.split, source=source, seed=settings.seed)
    if not settings.tasks:
        return read(), None
    order = in_turns(tuple(task.kind for task in read()), settings.seed)
    drawn = set(order[: settings.tasks])
    return (task for place, task in enumerate(read()) if place in drawn), len(drawn)


def _wanted(
    tasks: Iterable[Task], settings: EvaluationSettings, done: Mapping[str, frozenset[int]]
) -> Iterator[Wanted]:
    """What is not stored yet; of recorded answers, every task that they may be of."""
    met = 0
    for met, task in enumerate(tasks, 1):  # noqa: B007
        there = done.get(task.id, frozenset())
        missing = [number for number in range(settings.samples) if number not in there]
        if missing or settings.completions:
            yield task, missing
    if not met:
        raise UsageError(f"the data set {settings.dataset!r} has no task in its split {settings.split!r}")


def _stored(store: Store, run: str | None) -> Mapping[str, frozenset[int]]:
    if run is None:
        return {}
    with reading(store.engine) as connection:
        return stored_samples(connection, run)


def _entered(store: Store, settings: EvaluationSettings, language: Language, run: str | None) -> str:
    if run:
        store.resume_run(run, 0)
        return run
    return store.start_run(
        kind="eval",
        config={**settings.model_dump(), "store": str(store.engine.url)},
        language=language,
        model=settings.model,
        dataset=settings.dataset,
        seed=settings.seed,
    )


@contextmanager
def _started(store: Store, run: str, progress: _Progress) -> Iterator[str]:
    """Tells the plugins of `run`, and stores how it ends; one that ends early says how to go on."""
    progress.begin(run)
    try:
        yield run
    except BaseException as error:
        early: Status = "interrupted" if isinstance(error, KeyboardInterrupt) else "failed"
        store.finish_run(run, early, {**progress.summary(), "error": str(error)})
        again = f"agn eval --resume {run}{naming(str(store.engine.url))}"
        progress.reporter.say(f"what is verified is stored; to go on: {again}")
        raise
    finally:
        progress.plugins.run_finished(run)
    store.finish_run(run, "finished", progress.summary())


class _Progress:
    """Counts verdicts; tells the plugins and the reporter."""

    def __init__(
        self, reporter: Reporter, plugins: PluginManager, expected: int | None, done: Mapping[str, frozenset[int]]
    ) -> None:
        self.reporter, self.plugins = reporter, plugins
        self._run = ""
        self._expected = None if expected is None else expected - sum(map(len, done.values()))
        self._verdicts = Counter[Verdict]()
        self._lock = threading.Lock()

    def begin(self, run: str) -> None:
        """Take note of the run that is evaluated."""
        self._run = run
        self.plugins.run_started(run)

    def judged(self, verification: Verification) -> None:
        """Take note of one; on any thread."""
        with self._lock:
            self._verdicts[verification.verdict] += 1
            self.plugins.program_verified(self._run, verification)
            self.reporter.judged(self._verdicts[Verdict.ACCEPTED], self._verdicts.total(), self._expected)

    def examined(self, verification: Verification) -> None:
        """Take note of one that ran on tests which the model wrote; on any thread."""
        with self._lock:
            self.plugins.program_verified(self._run, verification)

    def summary(self) -> dict[str, int]:
        """How many were judged this time, by verdict."""
        return {str(verdict): count for verdict, count in self._verdicts.items()}


@contextmanager
def _source(
    settings: EvaluationSettings,
    plugins: PluginManager,
    reporter: Reporter,
    key: str | None,
    done: Mapping[str, frozenset[int]],
) -> Iterator[Source]:
    """Where the answers come from."""
    sampling = Sampling(settings.temperature, settings.max_completion_tokens)
    if settings.completions:
        yield RecordedSource(Path(settings.completions), done)
    elif settings.endpoint:
        with Endpoint(settings.endpoint, settings.model, key) as endpoint:
            yield EndpointSource(endpoint, sampling, settings.requests)
    else:
        folder = model_folder(settings, plugins, reporter.say)
        tokenizer, stop_ids, longest = answer_limits(folder, settings)
        engine_settings = EngineSettings(
            folder=folder,
            stop_ids=stop_ids,
            max_length=longest + settings.max_completion_tokens,
            max_num_seqs=settings.max_num_seqs,
            dtype=settings.dtype,
            kv_cache_gib=settings.kv_cache_gib,
            reads=True,
        )
        reporter.say(f"loading {folder} into {settings.engine}")
        with open_engine(settings.engine, engine_settings) as engine:
            yield EngineSource(
                engine=engine,
                tokenizer=tokenizer,
                sampling=sampling,
                seed=settings.seed,
                longest=longest,
                waiting=2 * settings.max_num_seqs,
                left_out=lambda task: reporter.say(f"task {task.id} is left out: more than {longest} tokens"),
            )
