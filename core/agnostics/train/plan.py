"""The plan of a run, computed from its configuration: nothing is started, downloaded or written."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from agnostics.algorithms.algorithm import Algorithm
from agnostics.environments.environment import EpisodeLimits
from agnostics.environments.settings import max_length
from agnostics.models.gguf import gguf_shape
from agnostics.models.hub import RemoteModel, look_up
from agnostics.models.loading import context_length, find_local_model, load_tokenizer
from agnostics.models.shape import ModelShape, shape_of
from agnostics.models.starter.bootstrap import cached_starter
from agnostics.plugins.manager import PluginManager
from agnostics.rollout.prompts import render_prompts
from agnostics.train.config import RunConfig
from agnostics.train.memory import MemoryEstimate, estimate_memory, kv_bytes_per_token
from agnostics.train.setup import (
    check_names,
    configured_algorithm,
    environment_of,
    max_step_tokens,
    prompt_limit,
    training_data,
    unfilled_batch,
)
from agnostics.train.task_splits import TaskSplits, task_splits
from agnostics.types.errors import UsageError

STAGES, DEVICES = (1, 2, 3), (1, 2, 4, 8)
"""The ZeRO stages and numbers of devices of the memory table."""


@dataclass(frozen=True, slots=True)
class WorkEstimate:
    """The amount of work of a run.

    Without the tokenizer `left_out` is None, no task is left out, and `longest_prompt` is the longest allowed.
    """

    tasks: int
    left_out: int | None
    validation: int
    held_out: int
    longest_prompt: int
    steps_per_epoch: int
    steps: int
    programs_per_step: int
    """Programs verified in a step; with `rollout.dynamic_sampling_rounds`, the maximum."""
    tokens_per_step: int
    """Tokens sampled in a step, at most."""
    programs: int
    """Programs verified in the run, held-out tasks included."""


@dataclass(frozen=True)
class RunPlan:
    """The work and the needs of a run. Unknown parts are None; `missing` are the errors of `agn run`."""

    folder: Path | None
    remote: RemoteModel | None
    shape: ModelShape | None
    memory: MemoryEstimate | None
    by_devices: dict[int, dict[int, MemoryEstimate | None]]
    """The same, by ZeRO stage and number of devices."""
    work: WorkEstimate | None
    longest: int
    """The most tokens of an episode with its prompt."""
    concurrent_sequences: int | None
    """The number of sequences of that length that fit into the KV caches of a rank's engines."""
    missing: tuple[UsageError, ...]


def plan(config: RunConfig, plugins: PluginManager, devices: int) -> RunPlan:
    """The plan of the run that `config` describes, on `devices` devices. Raises UsageError for unknown names."""
    check_names(config, plugins)
    found = _model(config, plugins)
    remote = look_up(config.model) if found is None and config.model != "starter" else None
    folder = found if found and found.is_dir() else None
    shape = _shape(found, remote)
    algorithm = configured_algorithm(plugins.algorithm(config.algorithm), config)
    limits = _limits(config, plugins, folder)
    work, missing = None, list[UsageError]()
    try:
        work = _work(config, plugins, algorithm, folder, task_splits(config, *training_data(config, plugins)))
        missing += filter(None, [unfilled_batch(config, algorithm, limits, work.steps)])
    except UsageError as error:
        missing.append(error)
    longest_prompt = work.longest_prompt if work else config.rollout.max_prompt_tokens
    longest = max_length(limits, longest_prompt, config.rollout.max_completion_tokens)
    concurrent = _concurrent_sequences(config, shape, longest) if shape else None
    if concurrent == 0:
        missing.append(_too_little_cache(config, longest))
    estimate = partial(_memory, config, algorithm, shape, longest, limits.max_turns)
    return RunPlan(
        folder=folder,
        remote=remote,
        shape=shape,
        memory=estimate(config.train.zero_stage, devices),
        by_devices={stage: {count: estimate(stage, count) for count in DEVICES} for stage in STAGES},
        work=work,
        longest=longest,
        concurrent_sequences=concurrent,
        missing=tuple(missing),
    )


def _memory(
    config: RunConfig,
    algorithm: Algorithm,
    shape: ModelShape | None,
    longest: int,
    max_turns: int,
    stage: int,
    devices: int,
) -> MemoryEstimate | None:
    if shape is None:
        return None
    reference = algorithm.kl_coef > 0 and not config.train.lora_rank
    return estimate_memory(
        shape, config, longest, reference=reference, stage=stage, devices=devices, max_turns=max_turns
    )


def _shape(found: Path | None, remote: RemoteModel | None) -> ModelShape | None:
    if found is None:
        return remote.shape if remote else None
    return shape_of(found) if found.is_dir() else gguf_shape(found)


def _model(config: RunConfig, plugins: PluginManager) -> Path | None:
    """The model's folder, or a GGUF file that is not converted yet; None if the model is not on this machine."""
    if config.model != "starter":
        return find_local_model(config.model)
    return cached_starter(plugins.language(config.language), plugins.dataset("starter")[0])


def _limits(config: RunConfig, plugins: PluginManager, folder: Path | None) -> EpisodeLimits:
    limits = environment_of(config, plugins).limits
    return config.episode.within(limits, context_length(folder) if folder else limits.max_context_tokens)


def _concurrent_sequences(config: RunConfig, shape: ModelShape, longest: int) -> int:
    rollout = config.rollout
    wanted, fitting = rollout.prompts_per_step * rollout.group_size, rollout.max_num_seqs
    if rollout.engine == "vllm":
        fitting = min(fitting, (rollout.kv_cache_gib << 30) // (kv_bytes_per_token(shape, config) * longest))
    return min(wanted, rollout.engine_processes * fitting)


def _too_little_cache(config: RunConfig, longest: int) -> UsageError:
    return UsageError(
        f"rollout.kv_cache_gib = {config.rollout.kv_cache_gib} does not hold a prompt and its completion, "
        f"{longest} tokens; raise it, or lower rollout.max_completion_tokens or rollout.max_prompt_tokens"
    )


def _work(
    config: RunConfig, plugins: PluginManager, algorithm: Algorithm, folder: Path | None, splits: TaskSplits
) -> WorkEstimate:
    rollout, evaluation = config.rollout, config.evaluation
    tasks, left_out, longest = len(splits.train), None, rollout.max_prompt_tokens
    validation, held_out = len(splits.validation), len(splits.test)
    if folder:
        tokenizer, limit = load_tokenizer(folder), prompt_limit(config, folder, _limits(config, plugins, folder))
        language, environment = plugins.language(config.language), environment_of(config, plugins)
        render = partial(
            render_prompts, tokenizer, language, max_tokens=limit, chat=config.chat, environment=environment
        )
        prompts, left_out = render(splits.train)
        validated, tests = (render(of_split)[0] if of_split else [] for of_split in (splits.validation, splits.test))
        tasks, validation, held_out = len(prompts), len(validated), len(tests)
        longest = max(len(prompt.token_ids) for prompt in [*prompts, *validated, *tests])
    steps_per_epoch = math.ceil(tasks / rollout.prompts_per_step)
    steps = config.steps or steps_per_epoch
    per_step = rollout.prompts_per_step * rollout.group_size * (1 + algorithm.dynamic_sampling_rounds)
    validations = 1 + math.ceil(steps / evaluation.eval_interval) if evaluation.eval_interval else 0
    return WorkEstimate(
        tasks=tasks,
        left_out=left_out,
        validation=validation,
        held_out=held_out,
        longest_prompt=longest,
        steps_per_epoch=steps_per_epoch,
        steps=steps,
        programs_per_step=per_step,
        tokens_per_step=max_step_tokens(config, algorithm, _limits(config, plugins, folder)),
        programs=steps * per_step + (2 * held_out + validations * validation) * evaluation.samples,
    )
