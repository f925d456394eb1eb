"""The plugin manager: loads plugins behind four guards, so that a bad one neither stops `agn` nor fails in silence.

The guards: filter by name before anything is imported; load, whatever the import raises; register whole or not at all;
call, where a plugin that raises loses only its own result. Each failure is a record (`agn plugins`), one line in the
log, and with `AGN_STRICT_PLUGINS=1` an exit.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.metadata import EntryPoint, entry_points, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agnostics.algorithms.algorithm import Algorithm
from agnostics.callbacks.callback import RunCallback
from agnostics.environments.environment import Environment
from agnostics.inference.provider import EngineProvider
from agnostics.players.player import Player
from agnostics.plugins import builtin, loader, specs
from agnostics.plugins.hook_caller import HookCaller
from agnostics.plugins.loader import PluginFilter, PluginRecord
from agnostics.plugins.python_file import absolute_python_name, instance_of, is_python_name, load_object
from agnostics.plugins.registry import Registry, RegistryHook, T
from agnostics.plugins.reward_file import load_reward
from agnostics.plugins.user_languages import UserLanguage, user_languages, user_languages_folder
from agnostics.sandbox.backend import SandboxBackend
from agnostics.types.dataset import Dataset
from agnostics.types.errors import UsageError
from agnostics.types.language import Language
from agnostics.types.reward import RewardPolicy
from agnostics.types.verification import Verification

if TYPE_CHECKING:
    import click

LANGUAGES: RegistryHook[Language] = RegistryHook("agn_languages", Language, "language")
DATASETS: RegistryHook[Dataset] = RegistryHook("agn_datasets", Dataset, "dataset")
REWARDS: RegistryHook[RewardPolicy] = RegistryHook("agn_rewards", RewardPolicy, "reward policy")
ENVIRONMENTS: RegistryHook[Environment[Any]] = RegistryHook("agn_environments", Environment, "environment")
ALGORITHMS: RegistryHook[Algorithm] = RegistryHook("agn_algorithms", Algorithm, "algorithm")
CALLBACKS: RegistryHook[RunCallback] = RegistryHook("agn_callbacks", RunCallback, "logger")
ENGINES: RegistryHook[EngineProvider] = RegistryHook("agn_engines", EngineProvider, "engine")
SANDBOXES: RegistryHook[SandboxBackend] = RegistryHook("agn_sandboxes", SandboxBackend, "sandbox")
PLAYERS: RegistryHook[Player] = RegistryHook("agn_players", Player, "player")
REGISTRY_HOOKS: tuple[RegistryHook[Any], ...] = (
    LANGUAGES,
    DATASETS,
    REWARDS,
    ENVIRONMENTS,
    ALGORITHMS,
    CALLBACKS,
    ENGINES,
    SANDBOXES,
    PLAYERS,
)


class PluginManager:
    """The loaded plugins, and the objects that they registered."""

    def __init__(
        self,
        entries: Iterable[EntryPoint],
        allowed: PluginFilter,
        *,
        user_languages: Iterable[UserLanguage] = (),
        strict: bool = False,
    ) -> None:
        self._hooks = HookCaller(strict=strict)
        self._registries: dict[str, Registry[Any]] = {}
        self._hooks.register(PluginRecord("agnostics", "agnostics", version("agnostics")), builtin)
        self._load_all(sorted(entries, key=lambda entry: (entry.name, entry.dist.name if entry.dist else "")), allowed)
        for language in user_languages:
            self._add_user_language(language, allowed)

    @property
    def records(self) -> list[PluginRecord]:
        """The plugins with their status, in the order in which they were loaded."""
        return self._hooks.records

    def languages(self) -> dict[str, Language]:
        """The languages of all plugins by name."""
        return self._registry(LANGUAGES).items()

    def datasets(self) -> dict[str, Dataset]:
        """The dataset adapters of all plugins by name."""
        return self._registry(DATASETS).items()

    def rewards(self) -> dict[str, RewardPolicy]:
        """The reward policies of all plugins by name."""
        return self._registry(REWARDS).items()

    def environments(self) -> dict[str, Environment[Any]]:
        """The environments of all plugins by name."""
        return self._registry(ENVIRONMENTS).items()

    def algorithms(self) -> dict[str, Algorithm]:
        """The algorithms of all plugins by name."""
        return self._registry(ALGORITHMS).items()

    def callbacks(self) -> dict[str, RunCallback]:
        """The run callbacks of all plugins by name."""
        return self._registry(CALLBACKS).items()

    def engines(self) -> dict[str, EngineProvider]:
        """The inference engines of all plugins by name."""
        return self._registry(ENGINES).items()

    def sandboxes(self) -> dict[str, SandboxBackend]:
        """The sandbox backends of all plugins by name."""
        return self._registry(SANDBOXES).items()

    def players(self) -> dict[str, Player]:
        """The players of agent sessions of all plugins by name."""
        return self._registry(PLAYERS).items()

    def language(self, name: str) -> Language:
        """The language called `name`, or the one in the YAML file `name`. Raises UsageError with the nearest name."""
        if name.endswith((".yaml", ".yml")):
            return Language.from_yaml(Path(name))
        return self._registry(LANGUAGES).find(name)

    def dataset(self, name: str) -> tuple[Dataset, str | None]:
        """The adapter and its source: `starter`, `adapter:source`, or a file whose ending an adapter reads.

        Raises UsageError with the nearest name.
        """
        adapters = self.datasets()
        head, colon, source = name.partition(":")
        if colon and head in adapters:
            return adapters[head], source
        for adapter in adapters.values():
            if adapter.suffixes and name.endswith(adapter.suffixes):
                return adapter, name
        return self._registry(DATASETS).find(name), None

    def reward(self, name: str) -> RewardPolicy:
        """The reward policy called `name`, or `path.py:NAME`: a function or class in a file. Raises UsageError."""
        if is_python_name(name):
            return load_reward(name)
        return self._registry(REWARDS).find(name)

    def environment(self, name: str) -> Environment[Any]:
        """The environment called `name`, or `path.py:NAME`: a class in a file. Raises UsageError."""
        if not is_python_name(name):
            return self._registry(ENVIRONMENTS).find(name)
        found = load_object(name, "environment")
        if not (isinstance(found, type) and issubclass(found, Environment)):
            raise UsageError(f"environment {name!r} is no subclass of Environment")
        environment: Environment[Any] = instance_of(found, absolute_python_name(name))
        return environment

    def algorithm(self, name: str) -> Algorithm:
        """The algorithm called `name`. Raises UsageError with the nearest name."""
        return self._registry(ALGORITHMS).find(name)

    def callback(self, name: str) -> RunCallback:
        """The run callback called `name`. Raises UsageError with the nearest name."""
        return self._registry(CALLBACKS).find(name)

    def engine(self, name: str) -> EngineProvider:
        """The inference engine called `name`. Raises UsageError with the nearest name."""
        return self._registry(ENGINES).find(name)

    def player(self, name: str) -> Player:
        """The player called `name`. Raises UsageError with the nearest name."""
        return self._registry(PLAYERS).find(name)

    def origin(self, language: str) -> str:
        """The distribution that provides `language`, with its version."""
        return self._registry(LANGUAGES).origin(language)

    def call_registry_hooks(self) -> None:
        """Call every hook that registers objects, so that a plugin that fails when called is recorded as failed."""
        for hook in REGISTRY_HOOKS:
            self._registry(hook)

    def add_commands(self, group: click.Group) -> None:
        """Let every plugin add its commands to `group`."""
        self._hooks.call("agn_commands", group=group)

    def run_started(self, run: str) -> None:
        """Tell every plugin that a run has begun."""
        self._hooks.call("agn_run_started", run=run)

    def program_verified(self, run: str, verification: Verification) -> None:
        """Tell every plugin about a verdict."""
        self._hooks.call("agn_program_verified", run=run, verification=verification)

    def step_finished(self, run: str, metrics: Mapping[str, float]) -> None:
        """Tell every plugin that a step is done."""
        self._hooks.call("agn_step_finished", run=run, metrics=metrics)

    def run_finished(self, run: str) -> None:
        """Tell every plugin that a run has ended."""
        self._hooks.call("agn_run_finished", run=run)

    def _registry(self, hook: RegistryHook[T]) -> Registry[T]:
        if hook.name not in self._registries:
            self._registries[hook.name] = Registry(hook, self._hooks)
        return self._registries[hook.name]

    def _load_all(self, entries: list[EntryPoint], allowed: PluginFilter) -> None:
        by_name = defaultdict[str, list[EntryPoint]](list)
        for entry in entries:
            by_name[entry.name].append(entry)
        for entry in entries:
            self._load(entry, allowed, by_name[entry.name])

    def _load(self, entry: EntryPoint, allowed: PluginFilter, namesakes: list[EntryPoint]) -> None:
        record = loader.plugin_record(entry)
        if self._disabled(record, allowed):
            return
        rivals = [r for r in map(loader.plugin_record, namesakes) if allowed.reason_against(r) is None]
        try:
            _require_unique(entry.name, rivals)
            plugin = loader.load(entry)
        except RuntimeError as error:
            self.records.append(record)
            self._hooks.fail(record, str(error))
            return
        self._hooks.register(record, plugin)

    def _add_user_language(self, language: UserLanguage, allowed: PluginFilter) -> None:
        record = PluginRecord(language.path.name, str(language.path), "")
        if not self._disabled(record, allowed):
            self._hooks.register(record, language)

    def _disabled(self, record: PluginRecord, allowed: PluginFilter) -> bool:
        reason = allowed.reason_against(record)
        if reason:
            record.status, record.reason = "disabled", reason
            self.records.append(record)
        return reason is not None


def _require_unique(name: str, records: list[PluginRecord]) -> None:
    """Raises RuntimeError if several distributions, those of `records`, have a plugin called `name`."""
    if len(records) > 1:
        both = " and ".join(record.distribution for record in records)
        raise RuntimeError(f"plugin {name!r} is registered by {both}; disable one with AGN_DISABLE_PLUGINS")


@cache
def load_plugins() -> PluginManager:
    """The installed plugins and the user's own languages, as far as the environment allows them."""
    return PluginManager(
        entry_points(group=specs.GROUP),
        PluginFilter.from_environment(),
        user_languages=user_languages(user_languages_folder()),
        strict=os.environ.get("AGN_STRICT_PLUGINS") == "1",
    )
