"""Run setup: resolve and check everything that a configuration names, before anything is written."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable
from dataclasses import dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import Any

from agnostics.algorithms.algorithm import Algorithm
from agnostics.callbacks.callback import RunCallback
from agnostics.environments.environment import Environment, EpisodeLimits
from agnostics.environments.settings import configured_environment, max_length, max_sampled_tokens
from agnostics.models.accelerator import has_gpu
from agnostics.models.loading import context_length, find_model, load_tokenizer
from agnostics.models.resolve import completion_room, resolve_model
from agnostics.models.shape import has_experts
from agnostics.plugins.manager import PluginManager
from agnostics.plugins.python_file import absolute_python_name
from agnostics.rollout.difficulty import DifficultySampler
from agnostics.rollout.prompts import RenderedPrompt, render_prompts
from agnostics.rollout.schedule import TaskSampler
from agnostics.train.config import RunConfig
from agnostics.train.task_splits import task_splits
from agnostics.types.dataset import Dataset
from agnostics.types.errors import UsageError
from agnostics.types.language import Language
from agnostics.types.reward import RewardPolicy
from agnostics.types.task import Task
from agnostics.util.settings import absolute_model, absolute_name

_ALGORITHM_FIELDS = {field.name for field in fields(Algorithm)}


@dataclass(frozen=True)
class RunInputs:
    """The inputs of a run. `steps` is the number of its last step.

    `folder` holds the model to continue with, and `reference` the starting model, if it is needed.
    """

    language: Language
    reward: RewardPolicy
    environment: Environment[Any]
    limits: EpisodeLimits
    algorithm: Algorithm
    folder: Path
    reference: Path | None
    tokenizer: Any
    task_sampler: TaskSampler
    validation: list[RenderedPrompt]
    held_out: list[RenderedPrompt]
    loggers: list[RunCallback]
    steps: int

    @property
    def longest_prompt(self) -> int:
        """Tokens in the longest prompt."""
        return max(len(prompt.token_ids) for prompt in [*self.task_sampler.prompts, *self.validation, *self.held_out])

    def max_length(self, max_completion_tokens: int) -> int:
        """The most tokens of an episode with its prompt."""
        return max_length(self.limits, self.longest_prompt, max_completion_tokens)


def check(config: RunConfig, plugins: PluginManager) -> None:
    """Raise UsageError for an unknown name. Nothing heavy is imported, so that the answer is quick.

    Raises MissingRequirement if a logger or an engine lacks its package.
    """
    check_names(config, plugins)
    _loggers(config, plugins)
    plugins.engine(config.rollout.engine).check_requirements()
    environment_of(config, plugins).check_requirements()
    if config.model != "starter":
        resolve_model(config.model, plugins, config.language)


def check_names(config: RunConfig, plugins: PluginManager) -> None:
    """Raise UsageError for a name that no plugin registered, and for settings that exclude each other."""
    plugins.language(config.language)
    plugins.reward(config.reward)
    environment_of(config, plugins)
    configured_algorithm(plugins.algorithm(config.algorithm), config)
    plugins.engine(config.rollout.engine)
    training_data(config, plugins)


def prepare(
    config: RunConfig, plugins: PluginManager, say: Callable[[str], None], resumed: Path | None = None
) -> RunInputs:
    """Resolve and check everything that `config` names; `resumed` is the model's folder of a resumed run.

    Raises UsageError for missing or forbidden inputs, MissingRequirement if a logger lacks its package.
    """
    loggers = _loggers(config, plugins)
    language, reward = plugins.language(config.language), plugins.reward(config.reward)
    environment = environment_of(config, plugins)
    algorithm = configured_algorithm(plugins.algorithm(config.algorithm), config)
    adapter, source = training_data(config, plugins)
    tasks = task_splits(config, adapter, source)
    check_checkers(tasks.all, plugins.languages())
    # A checkpoint of adapters belongs to the model they were added to; its own weights have them merged.
    is_checkpoint = resumed is not None and not config.train.lora_rank
    folder = find_model(str(resumed)) if is_checkpoint else _model(config, plugins, say)
    check_served_adapter(config, folder, on_gpu=has_gpu())
    tokenizer = load_tokenizer(folder)
    limits = config.episode.within(environment.limits, context_length(folder))
    limit = prompt_limit(config, folder, limits)
    render = partial(render_prompts, tokenizer, language, max_tokens=limit, chat=config.chat, environment=environment)
    prompts, left_out = render(tasks.train)
    if left_out:
        say(f"{left_out} of {len(tasks.train)} tasks are left out: their prompts have more than {limit} tokens")
    sampler = DifficultySampler if config.rollout.online_difficulty_filtering else TaskSampler
    task_sampler = sampler(prompts, config.rollout.prompts_per_step, config.seed)
    steps = config.steps or task_sampler.steps_per_epoch
    if error := unfilled_batch(config, algorithm, limits, steps):
        raise error
    return RunInputs(
        language=language,
        reward=reward,
        environment=environment,
        limits=limits,
        algorithm=algorithm,
        folder=folder,
        reference=_model(config, plugins, say) if algorithm.kl_coef else None,
        tokenizer=tokenizer,
        task_sampler=task_sampler,
        validation=render(tasks.validation)[0] if tasks.validation else [],
        held_out=render(tasks.test)[0] if tasks.test else [],
        loggers=loggers,
        steps=steps,
    )


def configured_algorithm(algorithm: Algorithm, config: RunConfig) -> Algorithm:
    """`algorithm` with every setting of `config` that has a field's name and is given.

    Raises UsageError for settings that exclude each other.
    """
    settings: dict[str, Any] = {**config.rollout.model_dump(), **config.train.model_dump()}
    given = {key: settings[key] for key in _ALGORITHM_FIELDS & settings.keys() if settings[key] is not None}
    try:
        configured = replace(algorithm, **given)
    except ValueError as error:
        raise UsageError(str(error)) from error
    if config.rollout.sleep_mode and configured.max_off_policy_steps:
        raise UsageError(
            "rollout.sleep_mode = true needs train.max_off_policy_steps = 0: an engine that samples during updates "
            "cannot sleep"
        )
    return configured


def resolved_config(config: RunConfig, inputs: RunInputs, store: str, output: Path) -> RunConfig:
    """`config` with every default filled in, and with paths that are valid from any folder."""
    names = {"language": absolute_name(config.language), "dataset": absolute_name(config.dataset)}
    names |= {"model": absolute_model(config.model), "reward": absolute_python_name(config.reward)}
    names |= {"environment": absolute_python_name(config.environment)}
    whole = with_algorithm_settings(config, inputs.algorithm)
    train = whole.train.model_copy(update={"max_logprob_mismatch": whole.train.logprob_mismatch_bound})
    return whole.model_copy(
        update={**names, "train": train, "steps": inputs.steps, "store": store, "output": str(output)}
    )


def with_algorithm_settings(config: RunConfig, algorithm: Algorithm) -> RunConfig:
    """`config` with the settings of `algorithm` for keys that are not given."""
    parts = {
        name: part.model_copy(
            update={key: getattr(algorithm, key) for key in _ALGORITHM_FIELDS & type(part).model_fields.keys()}
        )
        for name, part in {"rollout": config.rollout, "train": config.train}.items()
    }
    return config.model_copy(update=parts)


def training_data(config: RunConfig, plugins: PluginManager) -> tuple[Dataset, str | None]:
    """The data set's adapter and its source. Raises UsageError for an unknown one, or one that forbids training."""
    adapter, source = plugins.dataset(config.dataset)
    if adapter.evaluation_only:
        raise UsageError(
            f"data set {adapter.name!r} is for evaluation only ({adapter.license}): training on it is not allowed"
        )
    return adapter, source


def check_checkers(tasks: Iterable[Task], languages: Container[str]) -> None:
    """Raise UsageError for a task whose checker is in a language that is not installed, before training starts."""
    checkers = ((task.id, task.compare.checker) for task in tasks if task.compare.checker)
    for task, checker in checkers:
        if checker.language not in languages:
            raise UsageError(
                f"task {task!r}: its checker is in the language {checker.language!r}, which is not installed; "
                "see docs/datasets.md for adding it"
            )


def check_served_adapter(config: RunConfig, folder: Path, *, on_gpu: bool) -> None:
    """Raise UsageError if vLLM cannot serve the adapter: that of a mixture of experts, or on a GPU one in float32.

    With LoRA it computes all experts by kernels that need a GPU, and these were never tested. Its kernels on a GPU take
    16-bit weights only.
    """
    if not config.rollout.serve_adapter:
        return
    if has_experts(folder):
        raise UsageError(
            "rollout.serve_adapter = true: the model is a mixture of experts, whose adapter is not served by vLLM; "
            "without it the engine gets merged weights"
        )
    if on_gpu and config.train.dtype == "float32":
        raise UsageError(
            "rollout.serve_adapter = true: on a GPU vLLM serves no adapter in float32; set train.dtype=bfloat16, or "
            "leave out the key: the engine then gets merged weights"
        )


def environment_of(config: RunConfig, plugins: PluginManager) -> Environment[Any]:
    """The environment of a run. Raises UsageError for an unknown one, or one without such options."""
    return configured_environment(plugins.environment(config.environment), config.environment_options)


def max_step_tokens(config: RunConfig, algorithm: Algorithm, limits: EpisodeLimits) -> int:
    """The most tokens that a step can sample, with dynamic sampling."""
    rollout, rounds = config.rollout, 1 + algorithm.dynamic_sampling_rounds
    sampled = max_sampled_tokens(limits, rollout.max_completion_tokens)
    return rollout.prompts_per_step * rollout.group_size * rounds * sampled


def unfilled_batch(config: RunConfig, algorithm: Algorithm, limits: EpisodeLimits, steps: int) -> UsageError | None:
    """The error of a run that samples ahead and whose `steps` cannot fill one batch: it would learn nothing."""
    most = steps * max_step_tokens(config, algorithm, limits)
    if not algorithm.max_off_policy_steps or most >= algorithm.batch_tokens:
        return None
    return UsageError(
        f"train.batch_tokens = {algorithm.batch_tokens} is more than the {most} tokens that {steps} steps can sample: "
        "there would be no update; lower it, or raise --steps"
    )


def prompt_limit(config: RunConfig, folder: Path, limits: EpisodeLimits) -> int:
    """The longest prompt that the configuration allows and that leaves room for a completion.

    The room is that of the model in `folder` and of the episode.

    Raises UsageError if there is none.
    """
    rollout = config.rollout
    room = completion_room(folder, rollout.max_completion_tokens, "rollout.max_completion_tokens")
    return min(rollout.max_prompt_tokens, room, limits.max_prompt_tokens)


def _model(config: RunConfig, plugins: PluginManager, say: Callable[[str], None]) -> Path:
    return resolve_model(config.model, plugins, config.language, sandbox=config.sandbox, say=say)


def _loggers(config: RunConfig, plugins: PluginManager) -> list[RunCallback]:
    loggers = [plugins.callback(name) for name in config.loggers]
    for logger in loggers:
        logger.check_requirements()
    return loggers
