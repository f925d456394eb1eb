"""What a run will do and need, reckoned from its configuration: nothing is started, downloaded or written."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from agnostics.models.hub import Remote, look_up
from agnostics.models.loading import load_tokenizer, model_here
from agnostics.models.memory import Memory, Shape, kv_bytes_per_token, memory_of, shape_of
from agnostics.models.starter.bootstrap import starter_here
from agnostics.plugins.manager import PluginManager
from agnostics.rollout.task_sampler import ask_all
from agnostics.train.config import RunConfig
from agnostics.train.overrides import tuned
from agnostics.train.setup import check_names, held_out_tasks, prompt_limit, training_data
from agnostics.types.errors import UsageError
from agnostics.types.task import Task

STAGES, DEVICES = (1, 2, 3), (1, 2, 4, 8)
"""The ZeRO stages and numbers of devices that memory is told for."""


@dataclass(frozen=True, slots=True)
class Work:
    """How much a run has to do.

    Where the tokenizer is not here, `left_out` is None, and no task is; `longest_prompt` is then what is allowed.
    """

    tasks: int
    left_out: int | None
    held_out: int
    longest_prompt: int
    steps_per_epoch: int
    steps: int
    programs_per_step: int
    """Programs verified in a step; with `rollout.dynamic_sampling_rounds`, the most that it may come to."""
    tokens_per_step: int
    """Tokens sampled in a step, at most."""
    programs: int
    """Programs verified in the run, those of held-out tasks included."""


@dataclass(frozen=True)
class Plan:
    """What a run will do and need. What cannot be told yet is None; `missing` is what `agn run` would end with."""

    folder: Path | None
    remote: Remote | None
    shape: Shape | None
    memory: Memory | None
    by_devices: dict[int, dict[int, Memory | None]]
    """The same, by ZeRO stage and number of devices."""
    work: Work | None
    longest: int
    """Tokens of a prompt and its answer together, at most."""
    answers_at_once: int | None
    """How many of that length the engine's memory holds at one time."""
    missing: tuple[UsageError, ...]


def plan(config: RunConfig, plugins: PluginManager, devices: int) -> Plan:
    """The plan of the run that `config` describes, on `devices` devices. Raises UsageError for unknown names."""
    check_names(config, plugins)
    folder = _folder(config, plugins)
    remote = look_up(config.model) if folder is None and config.model != "starter" else None
    shape = shape_of(folder) if folder else remote.shape if remote else None
    work, missing = None, list[UsageError]()
    try:
        work = _work(config, plugins, folder, *_tasks(config, plugins))
    except UsageError as error:
        missing.append(error)
    longest = (work.longest_prompt if work else config.rollout.max_prompt_tokens) + config.rollout.max_completion_tokens
    at_once = _answers_at_once(config, shape, longest) if shape else None
    if at_once == 0:
        missing.append(_too_little_cache(config, longest))
    reckon = partial(_memory, config, plugins, shape, longest)
    return Plan(
        folder=folder,
        remote=remote,
        shape=shape,
        memory=reckon(config.train.zero_stage, devices),
        by_devices={stage: {count: reckon(stage, count) for count in DEVICES} for stage in STAGES},
        work=work,
        longest=longest,
        answers_at_once=at_once,
        missing=tuple(missing),
    )


def _memory(
    config: RunConfig, plugins: PluginManager, shape: Shape | None, longest: int, stage: int, devices: int
) -> Memory | None:
    if shape is None:
        return None
    reference = tuned(plugins.algorithm(config.algorithm), config).kl_coef > 0 and not config.train.lora_rank
    return memory_of(shape, config, longest, reference=reference, stage=stage, devices=devices)


def _folder(config: RunConfig, plugins: PluginManager) -> Path | None:
    """The model's folder, None where the model is yet to be downloaded or made."""
    if config.model != "starter":
        return model_here(config.model)
    return starter_here(plugins.language(config.language), plugins.dataset("starter")[0], seed=config.seed)


def _answers_at_once(config: RunConfig, shape: Shape, longest: int) -> int:
    rollout = config.rollout
    wanted = min(rollout.max_num_seqs, rollout.prompts_per_step * rollout.group_size)
    if rollout.engine != "vllm":
        return wanted
    return min(wanted, (rollout.kv_cache_gib << 30) // (kv_bytes_per_token(shape, config) * longest))


def _too_little_cache(config: RunConfig, longest: int) -> UsageError:
    return UsageError(
        f"rollout.kv_cache_gib = {config.rollout.kv_cache_gib} does not hold a prompt and its answer, "
        f"{longest} tokens; raise it, or lower rollout.max_completion_tokens or rollout.max_prompt_tokens"
    )


def _tasks(config: RunConfig, plugins: PluginManager) -> tuple[list[Task], list[Task]]:
    """The tasks to train on, and those held out."""
    adapter, source = training_data(config, plugins)
    train = list(adapter.tasks("train", source=source, seed=config.seed))
    return train, held_out_tasks(config, adapter, source)


def _work(config: RunConfig, plugins: PluginManager, folder: Path | None, train: list[Task], test: list[Task]) -> Work:
    rollout, evaluation = config.rollout, config.evaluation
    tasks, left_out, held_out, longest = len(train), None, len(test), rollout.max_prompt_tokens
    if folder:
        tokenizer, limit = load_tokenizer(folder), prompt_limit(config, folder)
        language = plugins.language(config.language)
        questions, left_out = ask_all(tokenizer, language, train, limit)
        tests = ask_all(tokenizer, language, test, limit)[0] if test else []
        tasks, held_out = len(questions), len(tests)
        longest = max(len(question.prompt) for question in [*questions, *tests])
    steps_per_epoch = math.ceil(tasks / rollout.prompts_per_step)
    steps = config.steps or steps_per_epoch
    rounds = 1 + tuned(plugins.algorithm(config.algorithm), config).dynamic_sampling_rounds
    per_step = rollout.prompts_per_step * rollout.group_size * rounds
    measurements = 2 + ((steps - 1) // evaluation.eval_interval if evaluation.eval_interval else 0)
    return Work(
        tasks=tasks,
        left_out=left_out,
        held_out=held_out,
        longest_prompt=longest,
        steps_per_epoch=steps_per_epoch,
        steps=steps,
        programs_per_step=per_step,
        tokens_per_step=per_step * rollout.max_completion_tokens,
        programs=steps * per_step + measurements * held_out * evaluation.samples,
    )
