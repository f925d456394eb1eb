"""One training run from beginning to end, and what is left of it when it is interrupted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack, nullcontext
from functools import partial
from pathlib import Path

from agnostics.algorithms.scoring import Judge
from agnostics.inference.engine import EngineSettings, open_engine
from agnostics.models.loading import stop_ids
from agnostics.plugins.manager import PluginManager
from agnostics.rollout.collector import open_workshop
from agnostics.rollout.task_sampler import Question
from agnostics.store import default_url
from agnostics.train import checkpoint
from agnostics.train.checkpoint import Progress
from agnostics.train.config import RunConfig, output_folder, to_toml
from agnostics.train.journal import Journal, Reporter, Status, Summary
from agnostics.train.learner import Teacher
from agnostics.train.policy import Policy
from agnostics.train.run_recorder import open_books
from agnostics.train.setup import Ingredients, prepare, resolve
from agnostics.train.trainer import Trainer
from agnostics.train.weight_sync import synchronise
from agnostics.types.errors import AgnosticsError
from agnostics.types.language import Language
from agnostics.util.distributed import Ranks, joined
from agnostics.util.signals import Interrupts
from agnostics.verify import Verifier


def run(config: RunConfig, plugins: PluginManager, reporter: Reporter, resume: Path | None = None) -> Summary:
    """Train as `config` says, or go on with the run in the folder `resume`, from its last checkpoint if it has one.

    Where a launcher started several ranks, each of them calls this and the first keeps the books. Ctrl-C and SIGTERM
    end it with a checkpoint, and the summary's status says so; before there is anything to keep they raise
    KeyboardInterrupt. Raises AgnosticsError for expected failures; what was stored until then stays.
    """
    with joined() as ranks, Interrupts() as interrupts, ExitStack() as resources:
        start = ranks.agreed(lambda: checkpoint.last(resume, ranks.size)) if resume else None
        found = ranks.in_turn(lambda: prepare(config, plugins, reporter.say, start))
        config = resolve(config, found, config.store or default_url(), output_folder(config))
        books = resources.enter_context(open_books(str(config.store), plugins, ranks))
        trainer = _open(resources, config, found, plugins.languages(), ranks, interrupts, reporter)
        progress = _take_up(start, trainer) if start else Progress()
        with books.run(config, found.language, resume, progress) as name:
            folder = ranks.agreed(lambda: _folder(config, name))
            with (
                books.ledger(name) as ledger,
                books.trace(folder) as trace,
                books.watched(found.watchers, config, name, folder) as log,
            ):
                journal = Journal(
                    name,
                    folder,
                    books.plugins,
                    ledger,
                    trace,
                    log,
                    reporter,
                    trainer,
                    found.tokenizer,
                    books.url,
                    progress,
                )
                with interrupts.held() if ranks.size > 1 else nullcontext():
                    status = _train(journal, trainer, found.held_out)
            summary = journal.summary(status)
            books.finish(name, status, summary.as_dict())
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
        trainer.workshop.sampler.drop()
        journal.save_checkpoint()
        return "interrupted"
    return "finished"


def _between_steps(journal: Journal, held_out: Sequence[Question], step: int) -> None:
    """Measure and write a checkpoint, where either is due."""
    if held_out and journal.measurement_is_due(step):
        journal.evaluated("eval_during", journal.trainer.attempt_held_out(held_out))
    journal.save_checkpoint_if_due(step)


def _open(
    resources: ExitStack,
    config: RunConfig,
    found: Ingredients,
    languages: Mapping[str, Language],
    ranks: Ranks,
    interrupts: Interrupts,
    reporter: Reporter,
) -> Trainer:
    """Everything that training holds on to, until `resources` is closed. `languages` are those of checkers."""
    reporter.say(f"loading {found.folder} into {config.rollout.engine} and DeepSpeed")
    verifier = resources.enter_context(Verifier(config.sandbox, ranks.slots, languages))
    rollout = config.rollout
    engine = open_engine(rollout.engine, _engine_settings(config, found), separate_process=rollout.separate_process)
    resources.enter_context(engine)
    policy = resources.enter_context(
        Policy(found.folder, config.train, config.rollout.temperature, found.algorithm, found.reference, ranks)
    )
    limit = config.rollout.max_completion_tokens
    workshop = resources.enter_context(
        open_workshop(engine, found.tokenizer, found.language, verifier, ranks, interrupts)
    )
    judge = Judge(found.reward, found.algorithm, limit, len(found.tokenizer))
    return Trainer(config, workshop, found.curriculum, judge, Teacher(policy, found.algorithm, limit), interrupts)


def _engine_settings(config: RunConfig, found: Ingredients) -> EngineSettings:
    return EngineSettings(
        folder=found.folder,
        stop_ids=stop_ids(found.folder, found.tokenizer),
        max_length=found.longest_prompt + config.rollout.max_completion_tokens,
        max_num_seqs=config.rollout.max_num_seqs,
        dtype=config.train.dtype,
        kv_cache_gib=config.rollout.kv_cache_gib,
    )


def _take_up(start: Path, trainer: Trainer) -> Progress:
    """Go back to the checkpoint `start`: weights, optimizer, random state, and the engine's weights."""
    progress = checkpoint.restore(start, trainer.teacher.policy)
    synchronise(trainer.teacher.policy, trainer.workshop.sampler)
    return progress if progress.step else Progress(seconds=progress.seconds)  # a run at step 0 begins anew


def _folder(config: RunConfig, name: str) -> Path:
    """The run's folder, with the resolved configuration in it."""
    folder = Path(str(config.output)) / name
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "config.toml").write_text(to_toml(config), encoding="utf-8")
    except OSError as error:
        raise AgnosticsError(f"{folder}: {error.strerror}; make room there, or choose --set output=FOLDER") from error
    return folder
