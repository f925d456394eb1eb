"""What a run starts from: its language, tasks and model, all checked before anything is written."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agnostics.algorithms.algorithm import Algorithm
from agnostics.callbacks.callback import Watcher
from agnostics.models.loading import context_length, find_model, load_tokenizer
from agnostics.plugins.manager import PluginManager
from agnostics.rollout.task_sampler import Curriculum, Question, ask_all, in_turns
from agnostics.train.config import RunConfig, absolute, absolute_model
from agnostics.train.overrides import tuned, written_out
from agnostics.types.dataset import Dataset
from agnostics.types.errors import UsageError
from agnostics.types.language import Language
from agnostics.types.reward import RewardPolicy
from agnostics.types.task import Task


@dataclass(frozen=True)
class Ingredients:
    """What a run starts from. `steps` is the number of its last step.

    `folder` holds the model to go on with, and `reference` the one that the run began with, where it is needed.
    """

    language: Language
    reward: RewardPolicy
    algorithm: Algorithm
    folder: Path
    reference: Path | None
    tokenizer: Any
    curriculum: Curriculum
    held_out: list[Question]
    watchers: list[Watcher]
    steps: int

    @property
    def longest_prompt(self) -> int:
        """Tokens in the longest prompt."""
        return max(len(question.prompt) for question in [*self.curriculum.questions, *self.held_out])


def check(config: RunConfig, plugins: PluginManager) -> None:
    """Raise UsageError for a name that leads nowhere. It imports nothing heavy, so that the answer is quick.

    Raises MissingRequirement where a watcher lacks its package.
    """
    check_names(config, plugins)
    _watchers(config, plugins)
    if config.model != "starter":
        find_model(config.model)


def check_names(config: RunConfig, plugins: PluginManager) -> None:
    """Raise UsageError for a name that no plugin registered."""
    plugins.language(config.language)
    plugins.reward(config.reward)
    plugins.algorithm(config.algorithm)
    training_data(config, plugins)


def prepare(
    config: RunConfig, plugins: PluginManager, say: Callable[[str], None], resumed: Path | None = None
) -> Ingredients:
    """Find and check everything that `config` names; `resumed` is the model's folder in a run that goes on.

    Raises UsageError for what is not there or not allowed, MissingRequirement where a watcher lacks its package.
    """
    watchers = _watchers(config, plugins)
    language, reward = plugins.language(config.language), plugins.reward(config.reward)
    algorithm = tuned(plugins.algorithm(config.algorithm), config)
    adapter, source = training_data(config, plugins)
    train = list(adapter.tasks("train", source=source, seed=config.seed))
    test = held_out_tasks(config, adapter, source)
    check_checkers([*train, *test], plugins.languages())
    # A checkpoint of adapters goes with the model that they were put into; its own has them merged.
    folder = (
        find_model(str(resumed)) if resumed and not config.train.lora_rank else _model(config, language, plugins, say)
    )
    tokenizer = load_tokenizer(folder)
    limit = prompt_limit(config, folder)
    questions, left_out = ask_all(tokenizer, language, train, limit)
    if left_out:
        say(f"{left_out} of {len(train)} tasks are left out: their prompts have more than {limit} tokens")
    curriculum = Curriculum(questions, config.rollout.prompts_per_step, config.seed)
    held_out = ask_all(tokenizer, language, test, limit)[0] if test else []
    return Ingredients(
        language=language,
        reward=reward,
        algorithm=algorithm,
        folder=folder,
        reference=_model(config, language, plugins, say) if algorithm.kl_coef else None,
        tokenizer=tokenizer,
        curriculum=curriculum,
        held_out=held_out,
        watchers=watchers,
        steps=config.steps or curriculum.steps_per_epoch,
    )


def resolve(config: RunConfig, found: Ingredients, store: str, output: Path) -> RunConfig:
    """`config` with nothing left open, and with paths that hold wherever it is read again."""
    names = {"language": absolute(config.language), "dataset": absolute(config.dataset)}
    names["model"] = absolute_model(config.model)
    whole = written_out(config, found.algorithm)
    train = whole.train.model_copy(update={"max_logprob_mismatch": whole.train.logprob_mismatch_bound})
    return whole.model_copy(
        update={**names, "train": train, "steps": found.steps, "store": store, "output": str(output)}
    )


def _watchers(config: RunConfig, plugins: PluginManager) -> list[Watcher]:
    watchers = [plugins.watcher(name) for name in config.loggers]
    for watcher in watchers:
        watcher.require()
    return watchers


def training_data(config: RunConfig, plugins: PluginManager) -> tuple[Dataset, str | None]:
    """The data set's adapter and its source. Raises UsageError where there is none, or where training is forbidden."""
    adapter, source = plugins.dataset(config.dataset)
    if adapter.evaluation_only:
        raise UsageError(
            f"data set {adapter.name!r} is for evaluation only ({adapter.license}): training on it is not allowed"
        )
    return adapter, source


def check_checkers(tasks: Iterable[Task], languages: Container[str]) -> None:
    """Raise UsageError for a task whose checker is in a language that nobody provides, before anything is trained."""
    checkers = ((task.id, task.compare.checker) for task in tasks if task.compare.checker)
    for task, checker in checkers:
        if checker.language not in languages:
            raise UsageError(
                f"task {task!r}: its checker is in the language {checker.language!r}, which is not installed; "
                "see docs/datasets.md for adding it"
            )


def held_out_tasks(config: RunConfig, adapter: Dataset, source: str | None) -> list[Task]:
    """Some tasks of the held-out split, where the adapter has one: drawn from all of it, kinds in turn."""
    evaluation = config.evaluation
    if not evaluation.tasks or evaluation.split not in adapter.splits:
        return []
    tasks = list(adapter.tasks(evaluation.split, source=source, seed=config.seed))
    order = in_turns(tuple(task.family for task in tasks), config.seed)
    return [tasks[place] for place in order[: evaluation.tasks]]


def _model(config: RunConfig, language: Language, plugins: PluginManager, say: Callable[[str], None]) -> Path:
    if config.model != "starter":
        return find_model(config.model)
    from agnostics.models.starter.bootstrap import bootstrap

    dataset, _ = plugins.dataset("starter")
    return bootstrap(language, dataset, seed=config.seed, sandbox=config.sandbox, progress=say)


def prompt_limit(config: RunConfig, folder: Path) -> int:
    """The longest prompt that fits the configuration and leaves the model in `folder` room to answer.

    Raises UsageError where none does.
    """
    rollout = config.rollout
    room = context_length(folder) - rollout.max_completion_tokens
    if room < 1:
        raise UsageError(
            f"rollout.max_completion_tokens = {rollout.max_completion_tokens} leaves no room for a prompt: "
            f"the model {folder} holds {room + rollout.max_completion_tokens} tokens"
        )
    return min(rollout.max_prompt_tokens, room)
