"""One training run from beginning to end, and its state if it is interrupted."""

from __future__ import annotations

from contextlib import ExitStack, nullcontext
from dataclasses import replace
from pathlib import Path

from agnostics.algorithms.algorithm import ScoringContext
from agnostics.callbacks.callback import CallbackList, Isolated, RunCallback, RunInfo, RunStatus
from agnostics.callbacks.chrome_trace import ChromeTrace
from agnostics.environments.settings import max_sampled_tokens
from agnostics.inference.engine import EngineSettings, SamplingParams
from agnostics.inference.provider import open_engine
from agnostics.models.loading import stop_ids
from agnostics.models.shape import shape_of
from agnostics.plugins.manager import PluginManager
from agnostics.plugins.run_hooks import PluginHooks
from agnostics.profiling.spans import SpanRecorder
from agnostics.rollout.collector import RolloutCollector
from agnostics.rollout.conversation import ConversationRenderer
from agnostics.rollout.detokenizer import Detokenizer
from agnostics.rollout.engine_loop import EngineLoop, EngineSource
from agnostics.rollout.episode_journal import EpisodeJournal
from agnostics.rollout.episode_loop import EpisodeLoop
from agnostics.rollout.episode_sandboxes import EpisodeSandboxes
from agnostics.rollout.prompts import call_form_of
from agnostics.rollout.rollout_verifier import RolloutVerifier
from agnostics.rollout.schedule import RolloutSchedule, StepsAhead
from agnostics.store import default_url
from agnostics.store.run_recorder import RunRecorder
from agnostics.train import checkpoint
from agnostics.train.checkpoint_writer import CheckpointWriter
from agnostics.train.config import RunConfig, output_folder, to_toml
from agnostics.train.config_file import ConfigFile
from agnostics.train.learner import Learner
from agnostics.train.lifecycle import reported, until_interrupted
from agnostics.train.memory import served_adapter
from agnostics.train.policy import Policy
from agnostics.train.run_store import RunStore
from agnostics.train.setup import RunInputs, max_step_tokens, prepare, resolved_config
from agnostics.train.state import TrainerState, TrainingSummary
from agnostics.train.trainer import Trainer
from agnostics.util.distributed import ProcessGroup, join_process_group
from agnostics.util.signals import InterruptHandler
from agnostics.util.statistics import PassRate
from agnostics.verify import Verifier


def run(
    config: RunConfig, plugins: PluginManager, progress: RunCallback, resume: Path | None = None
) -> TrainingSummary:
    """Train as `config` says, or resume the run in the folder `resume`, from its last checkpoint if it has one.

    If a launcher started several ranks, each of them calls this, and rank 0 reports. Ctrl-C and SIGTERM end the run
    with a checkpoint, and the summary's status says so; a second Ctrl-C ends it at once. Raises KeyboardInterrupt
    before there is anything to keep, and AgnosticsError for expected failures; what was stored until then stays.
    """
    with join_process_group() as group, _interrupts(group, progress) as interrupts, ExitStack() as resources:
        start = group.run_on_main(lambda: checkpoint.last(resume, group.world_size)) if resume else None
        inputs = group.run_main_first(lambda: prepare(config, plugins, progress.message, start))
        config = resolved_config(config, inputs, config.store or default_url(), output_folder(config.output))
        store = resources.enter_context(RunStore.open(str(config.store), group))
        trainer = _open_trainer(resources, config, inputs, plugins, group, interrupts, progress)
        if start:
            trainer.state = _restore(start, trainer)
        if start or config.rollout.serve_adapter:
            trainer.load_policy()
        form = call_form_of(inputs.tokenizer)
        info = group.run_on_main(lambda: store.start(config, inputs.language, resume, trainer.state, call_form=form))
        trainer.folder = Path(str(config.output)) / info.id
        episodes = trainer.rollouts.collector.episodes
        folder, version = trainer.folder / "episodes", trainer.learner.policy.version
        episodes.journal = resources.enter_context(EpisodeJournal(folder, version, group.rank))
        info = replace(info, folder=trainer.folder, steps=inputs.steps)
        if group.is_main:
            trainer.callbacks = _callbacks(store, config, inputs, plugins, progress)
        with interrupts.held() if group.world_size > 1 else nullcontext():
            return _train(trainer, info, group, store.url)


def _interrupts(group: ProcessGroup, progress: RunCallback) -> InterruptHandler:
    """The handler of Ctrl-C; several ranks must stop together, so that one cannot be forced."""
    return InterruptHandler(progress.message, can_be_forced=group.world_size == 1)


def _train(trainer: Trainer, info: RunInfo, group: ProcessGroup, store: str) -> TrainingSummary:
    """Train between the callbacks' start and end; an interrupt leaves a checkpoint."""
    with reported(trainer.callbacks, info, group) as finish:
        status = until_interrupted(trainer.train, lambda: _abort_and_save(trainer), trainer.checkpoints.abandon)
        summary = _summary(trainer, info.id, status, trainer.rollouts.collector.verifier.language.name, store)
        finish(status, summary.as_dict())
    return summary


def _abort_and_save(trainer: Trainer) -> None:
    trainer.engine.abort_all()
    trainer.save_checkpoint()
    trainer.checkpoints.wait()


def _callbacks(
    store: RunStore, config: RunConfig, inputs: RunInputs, plugins: PluginManager, progress: RunCallback
) -> RunCallback:
    """Everything that is told of the run, in this order."""
    assert store.store
    recorder = RunRecorder(store.store, separate_process=True)
    loggers = [Isolated(logger) for logger in inputs.loggers]
    return CallbackList(
        [recorder, ConfigFile(to_toml(config)), ChromeTrace(), *loggers, PluginHooks(plugins), progress]
    )


def _open_trainer(
    resources: ExitStack,
    config: RunConfig,
    inputs: RunInputs,
    plugins: PluginManager,
    group: ProcessGroup,
    interrupts: InterruptHandler,
    progress: RunCallback,
) -> Trainer:
    """The trainer with everything that it holds until `resources` is closed."""
    progress.message(f"loading {inputs.folder} into {config.rollout.engine} and DeepSpeed")
    verifier = resources.enter_context(
        Verifier(config.sandbox, group.sandbox_slots, plugins.languages(), plugins.sandboxes())
    )
    rollout, spans = config.rollout, SpanRecorder()
    engine = resources.enter_context(
        open_engine(
            rollout.engine,
            _engine_settings(config, inputs),
            separate_process=rollout.separate_process,
            processes=rollout.engine_processes,
            providers=plugins.engines(),
        )
    )
    policy = resources.enter_context(Policy(inputs.folder, config.train, rollout.temperature, inputs.reference, group))
    checkpoints = resources.enter_context(CheckpointWriter(policy, inputs.tokenizer, config.keep_checkpoints))
    loop = resources.enter_context(EngineLoop(engine, spans))
    rollout_verifier = RolloutVerifier(inputs.language, verifier, spans, config.chat.thinking)
    episodes = resources.enter_context(
        EpisodeLoop(
            EngineSource(loop, Detokenizer(inputs.tokenizer)),
            inputs.environment,
            rollout_verifier,
            inputs.limits,
            ConversationRenderer(inputs.tokenizer, config.chat, stop_ids(inputs.folder, inputs.tokenizer)),
            EpisodeSandboxes(config.sandbox, plugins.sandboxes()),
        )
    )
    sampled = max_sampled_tokens(inputs.limits, rollout.max_completion_tokens)
    schedule = RolloutSchedule(
        collector=RolloutCollector(episodes, group, interrupts),
        task_sampler=inputs.task_sampler,
        group_size=rollout.group_size,
        params=SamplingParams(rollout.temperature, rollout.max_completion_tokens),
        seed=config.seed,
        steps_ahead=_steps_ahead(config, inputs),
        steps=inputs.steps,
        algorithm=inputs.algorithm,
        scoring=ScoringContext(inputs.reward, sampled, len(inputs.tokenizer), inputs.steps),
        stop_on_failure=not inputs.reward.needs_all_tests,
    )
    return Trainer(
        config=config,
        folder=Path(),
        rollouts=schedule,
        algorithm=inputs.algorithm,
        learner=Learner(policy, sampled),
        checkpoints=checkpoints,
        engine=loop,
        validation=inputs.validation,
        held_out=inputs.held_out,
        callbacks=CallbackList(),
        interrupts=interrupts,
        state=TrainerState(),
    )


def _engine_settings(config: RunConfig, inputs: RunInputs) -> EngineSettings:
    return EngineSettings(
        folder=inputs.folder,
        stop_ids=stop_ids(inputs.folder, inputs.tokenizer),
        max_length=inputs.max_length(config.rollout.max_completion_tokens),
        max_num_seqs=config.rollout.max_num_seqs,
        dtype=config.train.dtype,
        kv_cache_gib=config.rollout.kv_cache_gib,
        tensor_parallel_size=config.rollout.tensor_parallel_size,
        cuda_graphs=config.rollout.cuda_graphs,
        chunked_prefill=config.rollout.chunked_prefill,
        sleep_mode=config.rollout.sleep_mode,
        adapter=served_adapter(shape_of(inputs.folder), config.train) if config.rollout.serve_adapter else None,
    )


def _steps_ahead(config: RunConfig, inputs: RunInputs) -> StepsAhead:
    algorithm = inputs.algorithm
    return StepsAhead(
        max_off_policy_steps=algorithm.max_off_policy_steps,
        updates_per_batch=config.train.updates_per_batch,
        batch_tokens=algorithm.batch_tokens,
        max_completion_tokens=max_sampled_tokens(inputs.limits, config.rollout.max_completion_tokens),
        max_step_tokens=max_step_tokens(config, algorithm, inputs.limits),
    )


def _restore(start: Path, trainer: Trainer) -> TrainerState:
    """Restore the checkpoint `start`: weights, optimizer, random state, order of tasks, waiting rollouts."""
    policy = trainer.learner.policy
    state = checkpoint.restore(start, policy)
    trainer.rollouts.task_sampler.restore(state.task_sampler, state.step)
    trainer.learner.queue.restore(state.queue, (prompt.task for prompt in trainer.rollouts.task_sampler.prompts))
    return state if state.step else TrainerState(seconds=state.seconds)  # a run at step 0 starts anew


def _summary(trainer: Trainer, run: str, status: RunStatus, language: str, store: str) -> TrainingSummary:
    trainer.advance()
    state = trainer.state
    return TrainingSummary(
        run=run,
        status=status,
        language=language,
        steps=state.step,
        completions=state.completions,
        before=PassRate(**state.before) if state.before else None,
        after=trainer.last_pass_rate,
        checkpoint=trainer.checkpoints.last,
        store=store,
        seconds=state.seconds,
    )
