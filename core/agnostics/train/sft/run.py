"""One run of supervised fine-tuning from beginning to end, and its state if it is interrupted."""

from __future__ import annotations

from contextlib import ExitStack, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from agnostics.callbacks.callback import CallbackList, Isolated, RunCallback, RunInfo, RunStatus
from agnostics.models.flop import training_flop
from agnostics.plugins.manager import PluginManager
from agnostics.plugins.run_hooks import PluginHooks
from agnostics.store import default_url
from agnostics.store.run_recorder import RunRecorder
from agnostics.train import checkpoint
from agnostics.train.checkpoint_writer import CheckpointWriter
from agnostics.train.config import output_folder
from agnostics.train.config_file import ConfigFile
from agnostics.train.lifecycle import reported, until_interrupted
from agnostics.train.run_store import RunStore
from agnostics.train.sft.config import SftConfig, to_toml
from agnostics.train.sft.metrics import describe_sft_metric
from agnostics.train.sft.policy import SupervisedPolicy
from agnostics.train.sft.setup import SftInputs, prepare, resolved_config
from agnostics.train.sft.trainer import SupervisedTrainer
from agnostics.train.state import TrainerState
from agnostics.util.distributed import ProcessGroup, join_process_group
from agnostics.util.signals import InterruptHandler


@dataclass(frozen=True, slots=True)
class SftSummary:
    """The results of a run; `seconds` is the time of all sessions.

    `loss` is that of the last step of its last session, and `validation_loss` the last one that was measured in it.
    """

    run: str
    status: RunStatus
    steps: int
    loss: float | None
    validation_loss: float | None
    checkpoint: Path | None
    store: str
    seconds: float

    def as_dict(self) -> dict[str, Any]:
        """The summary as `agn sft --json` prints it and the store keeps it."""
        return {
            "run": self.run,
            "steps": self.steps,
            "loss": self.loss,
            "validation_loss": self.validation_loss,
            "checkpoint": self.checkpoint and str(self.checkpoint),
            "store": self.store,
            "seconds": round(self.seconds, 1),
        }


def run(config: SftConfig, plugins: PluginManager, progress: RunCallback, resume: Path | None = None) -> SftSummary:
    """Train as `config` says, or resume the run in the folder `resume`, from its last checkpoint if it has one.

    Ranks, interrupts and errors are those of `agnostics.train.run.run`.
    """
    with (
        join_process_group() as group,
        InterruptHandler(progress.message, can_be_forced=group.world_size == 1) as interrupts,
        ExitStack() as resources,
    ):
        start = group.run_on_main(lambda: checkpoint.last(resume, group.world_size, "sft")) if resume else None
        inputs = group.run_main_first(lambda: prepare(config, plugins, progress.message, start))
        config = resolved_config(config, inputs, config.store or default_url(), output_folder(config.output))
        store = resources.enter_context(RunStore.open(str(config.store), group))
        trainer = _open_trainer(resources, config, inputs, group, interrupts, progress)
        if start:
            trainer.state = checkpoint.restore(start, trainer.policy)
        info = group.run_on_main(lambda: store.start(config, inputs.language, resume, trainer.state, "sft"))
        trainer.folder = Path(str(config.output)) / info.id
        info = replace(info, folder=trainer.folder, steps=inputs.steps, describe_metric=describe_sft_metric)
        if group.is_main:
            trainer.callbacks = _callbacks(store, config, inputs, plugins, progress)
        with interrupts.held() if group.world_size > 1 else nullcontext():
            return _train(trainer, info, group, store.url)


def _train(trainer: SupervisedTrainer, info: RunInfo, group: ProcessGroup, store: str) -> SftSummary:
    """Train between the callbacks' start and end; an interrupt leaves a checkpoint."""
    with reported(trainer.callbacks, info, group) as finish:
        status = until_interrupted(trainer.train, lambda: _save(trainer), trainer.checkpoints.abandon)
        trainer.advance()
        state = trainer.state
        summary = SftSummary(
            run=info.id,
            status=status,
            steps=state.step,
            loss=trainer.last_loss,
            validation_loss=trainer.validation_loss,
            checkpoint=trainer.checkpoints.last,
            store=store,
            seconds=state.seconds,
        )
        finish(status, summary.as_dict())
    return summary


def _save(trainer: SupervisedTrainer) -> None:
    trainer.save_checkpoint()
    trainer.checkpoints.wait()


def _callbacks(
    store: RunStore, config: SftConfig, inputs: SftInputs, plugins: PluginManager, progress: RunCallback
) -> RunCallback:
    """Everything that is told of the run, in this order."""
    assert store.store
    recorder = RunRecorder(store.store, separate_process=False)
    loggers = [Isolated(logger) for logger in inputs.loggers]
    return CallbackList([recorder, ConfigFile(to_toml(config)), *loggers, PluginHooks(plugins), progress])


def _open_trainer(
    resources: ExitStack,
    config: SftConfig,
    inputs: SftInputs,
    group: ProcessGroup,
    interrupts: InterruptHandler,
    progress: RunCallback,
) -> SupervisedTrainer:
    """The trainer with the model, which `resources` closes."""
    progress.message(f"loading {inputs.folder} into DeepSpeed")
    settings = config.train.policy_settings()
    policy = resources.enter_context(SupervisedPolicy(inputs.folder, settings, 1.0, process_group=group))
    writer = CheckpointWriter(policy, inputs.tokenizer, config.keep_checkpoints, "sft")
    return SupervisedTrainer(
        config=config,
        folder=Path(),
        policy=policy,
        checkpoints=resources.enter_context(writer),
        mixture=inputs.mixture,
        validation=inputs.validation,
        cost=training_flop(inputs.folder),
        steps=inputs.steps,
        callbacks=CallbackList(),
        interrupts=interrupts,
        state=TrainerState(),
        packing=_packing(policy, inputs, progress),
    )


def _packing(policy: SupervisedPolicy, inputs: SftInputs, progress: RunCallback) -> bool:
    """Whether documents can share a row: tried on the first of each source."""
    documents = [document for source in inputs.mixture.sources for document in source.documents[:2]]
    if len(documents) < 2 or policy.separates(documents):
        return True
    progress.message("this model reads across the documents of a row: each gets a row of its own")
    return False
