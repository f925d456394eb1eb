"""One evaluation from beginning to end: rollouts are sampled or read, verified, and stored."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import partial

from agnostics.callbacks.callback import CallbackList, RunCallback, RunInfo, RunStatus
from agnostics.environments.tools.form import CallForm
from agnostics.evaluate.generated_tests import TestGeneration
from agnostics.evaluate.settings import EvaluationSettings
from agnostics.evaluate.sources import SampledRollouts, Wanted, open_source
from agnostics.plugins.manager import PluginManager
from agnostics.plugins.run_hooks import PluginHooks
from agnostics.rollout.schedule import round_robin_order
from agnostics.store import Store
from agnostics.store.database import reading, store_argument
from agnostics.store.queries.evaluations import stored_samples
from agnostics.store.queries.runs import CALL_FORM
from agnostics.store.run_recorder import RunRecorder
from agnostics.types.errors import UsageError, unknown_name_error
from agnostics.types.language import Language
from agnostics.types.rollout import Phase, Rollout
from agnostics.types.task import Task
from agnostics.util.text import plural
from agnostics.verify import Verifier


def evaluate(
    settings: EvaluationSettings,
    plugins: PluginManager,
    store: Store,
    progress: RunCallback,
    key: str | None,
    run: str | None = None,
) -> str:
    """Evaluate a model as `settings` say, or resume the evaluation `run`; returns the run's id.

    `key` is the endpoint's. Ctrl-C leaves the run as interrupted, with everything that was verified. Raises
    AgnosticsError for expected failures; the run is then stored as failed, and can be resumed too.
    """
    language = settings.with_prompt(plugins.language(settings.language))
    done = _stored(store, run)
    tasks, total = chosen_tasks(settings, plugins)
    expected = None if total is None or settings.completions else total * settings.samples
    stored = sum(map(len, done.values()))
    with (
        Verifier(settings.sandbox, languages=plugins.languages(), backends=plugins.sandboxes()) as verifier,
        open_source(settings, plugins, language, verifier, key, done, progress.message) as source,
    ):
        info = RunInfo(
            _start(store, settings, language, run, source.call_form),
            "eval",
            config=settings.model_dump(),
            expected_rollouts=None if expected is None else expected - stored,
        )
        recorder = RunRecorder(store, separate_process=False)
        callbacks = CallbackList([recorder, PluginHooks(plugins), progress])
        with _Reported(callbacks, info, store) as verdicts:
            verdicts.report("eval", source.verified(_wanted(tasks, settings, done), language))
            if settings.generated_tests and isinstance(source, SampledRollouts):
                progress.message("the model writes tests")
                callbacks.flush()
                tasks, _ = chosen_tasks(settings, plugins)
                generation = TestGeneration(store, info.id, source, settings.generated_tests)
                verdicts.report("eval_generated_tests", generation.run_on(tasks, language))
                progress.message(f"the model has written tests for {plural(generation.tested, 'task')}")
    return info.id


def chosen_tasks(settings: EvaluationSettings, plugins: PluginManager) -> tuple[Iterable[Task], int | None]:
    """All tasks in their order, or some of them, drawn as training draws held-out ones; and their number, if known.

    To draw some, the data set is read twice, so that only one task is held. Raises UsageError for an unknown data set
    or split.
    """
    adapter, source = plugins.dataset(settings.dataset)
    if settings.split not in adapter.splits:
        raise unknown_name_error(f"split of {adapter.name}", settings.split, adapter.splits)
    read = partial(adapter.tasks, settings.split, source=source, seed=settings.seed)
    if not settings.tasks:
        return read(), None
    order = round_robin_order(tuple(task.family for task in read()), settings.seed)
    drawn = set(order[: settings.tasks])
    return (task for place, task in enumerate(read()) if place in drawn), len(drawn)


def _wanted(
    tasks: Iterable[Task], settings: EvaluationSettings, done: Mapping[str, frozenset[int]]
) -> Iterator[Wanted]:
    """The samples that are not stored yet; for recorded completions, every task that they may be of."""
    count = 0
    for count, task in enumerate(tasks, 1):  # noqa: B007
        stored = done.get(task.id, frozenset())
        missing = [number for number in range(settings.samples) if number not in stored]
        if missing or settings.completions:
            yield task, missing
    if not count:
        raise UsageError(f"the data set {settings.dataset!r} has no task in its split {settings.split!r}")


def _stored(store: Store, run: str | None) -> Mapping[str, frozenset[int]]:
    if run is None:
        return {}
    with reading(store.engine) as connection:
        return stored_samples(connection, run)


def _start(store: Store, settings: EvaluationSettings, language: Language, run: str | None, call_form: CallForm) -> str:
    if run:
        store.resume_run(run, 0)
        return run
    return store.start_run(
        kind="eval",
        config={**settings.model_dump(), "store": str(store.engine.url), CALL_FORM: call_form},
        language=language,
        model=settings.model,
        dataset=settings.dataset,
        seed=settings.seed,
    )


class _Reported:
    """Tells the callbacks of the run's start, its rollouts and its end. A context manager."""

    def __init__(self, callbacks: RunCallback, info: RunInfo, store: Store) -> None:
        self._callbacks, self._info, self._store = callbacks, info, store
        self._verdicts = Counter[str]()

    def report(self, phase: Phase, rollouts: Iterable[Rollout]) -> None:
        """Tell the callbacks of each rollout."""
        for rollout in rollouts:
            if phase == "eval":
                self._verdicts[str(rollout.verified.verdict)] += 1
            self._callbacks.rollouts_finished(0, phase, [rollout])

    def __enter__(self) -> _Reported:
        self._callbacks.run_started(self._info)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: object) -> None:
        if error is None:
            self._callbacks.run_finished("finished", dict(self._verdicts))
            return
        status: RunStatus = "interrupted" if isinstance(error, KeyboardInterrupt) else "failed"
        self._callbacks.run_finished(status, {**self._verdicts, "error": str(error)})
        resume = f"agn eval --resume {self._info.id}{store_argument(str(self._store.engine.url))}"
        self._callbacks.message(f"everything verified is stored; to resume: {resume}")
