"""One training run from beginning to end, and what is left of it when it is interrupted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

from agnostics.errors import AgnosticsError
from agnostics.host import Host
from agnostics.rollout.engine import EngineSettings, open_engine
from agnostics.store import Store, default_url
from agnostics.store.database import reading
from agnostics.store.steps import figures_by_step
from agnostics.train import checkpoint
from agnostics.train.attempts import Workshop
from agnostics.train.checkpoint import Progress
from agnostics.train.config import RunConfig, output_folder, to_toml
from agnostics.train.curriculum import Question
from agnostics.train.interrupt import Interrupts
from agnostics.train.journal import Journal, Reporter, Status, Summary
from agnostics.train.lessons import Teacher
from agnostics.train.loop import Trainer
from agnostics.train.model import stop_ids
from agnostics.train.policy import Policy
from agnostics.train.prepare import Ingredients, prepare, resolve
from agnostics.train.reckoning import Judge
from agnostics.train.sync import synchronise
from agnostics.train.watching import meaning, shown, watched
from agnostics.verify import Verifier
from agnostics.watcher import WatchedRun

FROM_THE_START = -1
"""The step that a run is taken back to where it has no checkpoint of a step that is done."""


def run(config: RunConfig, host: Host, reporter: Reporter, resume: Path | None = None) -> Summary:
    """Train as `config` says, or go on with the run in the folder `resume`, from its last checkpoint if it has one.

    Ctrl-C and SIGTERM end it with a checkpoint, and the summary's status says so; before there is anything to keep
    they raise KeyboardInterrupt. Raises AgnosticsError for expected failures; what was stored until then stays.
    """
    with Interrupts() as interrupts, ExitStack() as resources:
        start = checkpoint.last(resume) if resume else None
        found = prepare(config, host, reporter.say, start)
        config = resolve(config, found, config.store or default_url(), output_folder(config))
        store = resources.enter_context(Store.open(str(config.store)))
        trainer = _open(resources, config, found, interrupts, reporter)
        progress = _take_up(start, trainer) if start else Progress()
        with _registered(store, host, config, found, resume, progress) as name:
            folder = _folder(config, name)
            seen = WatchedRun(name, folder, _public(config, store), _history(store, name), meaning)
            with store.recorder(name) as recorder, watched(found.watchers, seen) as log:
                where = str(store.engine.url)
                journal = Journal(
                    name, folder, host, recorder, log, reporter, trainer, found.tokenizer, where, progress
                )
                status = _train(journal, trainer, found.held_out)
            summary = journal.summary(status)
            store.finish_run(name, status, summary.as_dict())
        return summary


def _train(journal: Journal, trainer: Trainer, held_out: Sequence[Question]) -> Status:
    """Measure, train, measure again; an interrupt leaves a checkpoint."""
    try:
        if held_out and journal.progress.before is None:
            journal.evaluated("eval_before", trainer.attempt_held_out(held_out))
        between = partial(_between_steps, journal, held_out)
        if journal.progress.step:
            between(journal.progress.step)  # what an interrupt may have cut short
        trainer.train(journal.progress.step, journal.step_finished, between)
        if held_out:
            journal.evaluated("eval_after", trainer.attempt_held_out(held_out))
    except KeyboardInterrupt:
        journal.save_checkpoint()
        return "interrupted"
    return "finished"


def _between_steps(journal: Journal, held_out: Sequence[Question], step: int) -> None:
    """Measure and write a checkpoint, where either is due."""
    if held_out and journal.measurement_is_due(step):
        journal.evaluated("eval_during", journal.trainer.attempt_held_out(held_out))
    journal.save_checkpoint_if_due(step)


def _open(
    resources: ExitStack, config: RunConfig, found: Ingredients, interrupts: Interrupts, reporter: Reporter
) -> Trainer:
    """Everything that training holds on to, until `resources` is closed."""
    reporter.say(f"loading {found.folder} into {config.rollout.engine} and DeepSpeed")
    verifier = resources.enter_context(Verifier(sandbox=config.sandbox))
    engine = resources.enter_context(open_engine(config.rollout.engine, _engine_settings(config, found)))
    policy = resources.enter_context(
        Policy(found.folder, config.train, config.rollout.temperature, found.algorithm, found.reference)
    )
    limit = config.rollout.max_new_tokens
    workshop = Workshop(engine, found.tokenizer, found.language, verifier)
    judge = Judge(found.reward, found.algorithm, limit, len(found.tokenizer))
    return Trainer(config, workshop, found.curriculum, judge, Teacher(policy, found.algorithm, limit), interrupts)


def _engine_settings(config: RunConfig, found: Ingredients) -> EngineSettings:
    return EngineSettings(
        folder=found.folder,
        stop_ids=stop_ids(found.folder, found.tokenizer),
        max_length=found.longest_prompt + config.rollout.max_new_tokens,
        max_running=config.rollout.max_running,
        dtype=config.train.dtype,
        kv_cache_gib=config.rollout.kv_cache_gib,
    )


def _take_up(start: Path, trainer: Trainer) -> Progress:
    """Go back to the checkpoint `start`: weights, optimizer, random state, and the engine's weights."""
    progress = checkpoint.restore(start, trainer.teacher.policy)
    synchronise(trainer.teacher.policy, trainer.workshop.engine)
    return progress if progress.step else Progress(seconds=progress.seconds)  # a run at step 0 begins anew


@contextmanager
def _registered(
    store: Store, host: Host, config: RunConfig, found: Ingredients, resume: Path | None, progress: Progress
) -> Iterator[str]:
    """The run's id, from the moment that the store knows of it; a run that fails is stored as failed."""
    if resume:
        name = resume.name
        store.resume_run(name, progress.step or FROM_THE_START, measured=progress.measured == progress.step)
    else:
        name = store.start_run(
            kind="train",
            config=_public(config, store),
            language=found.language,
            model=config.model,
            dataset=config.dataset,
            seed=config.seed,
        )
    host.run_started(name)
    try:
        yield name
    except BaseException as error:
        with suppress(Exception):  # the first error is the one to report
            store.finish_run(name, "failed", {"error": str(error)})
        raise
    finally:
        host.run_finished(name)


def _public(config: RunConfig, store: Store) -> dict[str, Any]:
    """The configuration, with the store's address as it hides a password."""
    return {**config.model_dump(), "store": str(store.engine.url)}


def _history(store: Store, run: str) -> dict[int, dict[str, float]]:
    """What a resumed run has done, as watchers see it."""
    with reading(store.engine) as connection:
        stored = figures_by_step(connection, run)
    return {step: shown(figures) for step, figures in stored.items()}


def _folder(config: RunConfig, name: str) -> Path:
    """The run's folder, with the resolved configuration in it."""
    folder = Path(str(config.output)) / name
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "config.toml").write_text(to_toml(config), encoding="utf-8")
    except OSError as error:
        raise AgnosticsError(f"{folder}: {error.strerror}; make room there, or choose --set output=FOLDER") from error
    return folder
