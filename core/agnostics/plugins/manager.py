"""The plugin host: loads packs through four guards, so that a bad one never takes `agn` down and is never silent.

The guards: filter by name before anything is imported; load, whatever the import raises; register whole or not at
all; call, where an implementation that raises loses its own result only. Each failure is a record (`agn plugins`), one
line in the log, and with `AGN_STRICT_PLUGINS=1` an exit.
"""

from __future__ import annotations

import logging
import os
from collections import defaultdict
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.metadata import EntryPoint, entry_points, version
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import pluggy

from agnostics.algorithms.algorithm import Algorithm
from agnostics.callbacks.callback import RunCallback
from agnostics.plugins import builtin, loader, specs
from agnostics.plugins.loader import Filter, PluginRecord
from agnostics.plugins.user_languages import YamlPack, own_folder, own_packs
from agnostics.types.dataset import Dataset
from agnostics.types.errors import MissingRequirement, UsageError, describe, unknown
from agnostics.types.language import Language
from agnostics.types.reward import RewardPolicy
from agnostics.types.verification import Verification

if TYPE_CHECKING:
    import click

log = logging.getLogger("agnostics")
Named = TypeVar("Named", Language, Dataset, RewardPolicy, Algorithm, RunCallback)


class PluginManager:
    """The loaded plugins, and what they registered."""

    def __init__(
        self, entries: Iterable[EntryPoint], allowed: Filter, *, own: Iterable[YamlPack] = (), strict: bool = False
    ) -> None:
        self.records: list[PluginRecord] = []
        self._strict = strict
        self._manager = pluggy.PluginManager(specs.GROUP)
        self._manager.add_hookspecs(specs)
        self._owners: dict[str, PluginRecord] = {}
        self._registered: dict[str, dict[str, Any]] = {}
        self._contested: dict[str, str] = {}
        self._origins: dict[tuple[str, str], str] = {}
        self._trace()
        self._add(PluginRecord("agnostics", "agnostics", version("agnostics")), builtin)
        self._load_all(sorted(entries, key=lambda entry: (entry.name, entry.dist.name if entry.dist else "")), allowed)
        for pack in own:
            self._add_own(pack, allowed)

    def languages(self) -> dict[str, Language]:
        """The languages of all plugins by name."""
        return self._collect("agn_languages", Language)

    def datasets(self) -> dict[str, Dataset]:
        """The dataset adapters of all plugins by name."""
        return self._collect("agn_datasets", Dataset)

    def rewards(self) -> dict[str, RewardPolicy]:
        """The reward policies of all plugins by name."""
        return self._collect("agn_rewards", RewardPolicy)

    def algorithms(self) -> dict[str, Algorithm]:
        """The algorithms of all plugins by name."""
        return self._collect("agn_algorithms", Algorithm)

    def callbacks(self) -> dict[str, RunCallback]:
        """The run callbacks of all plugins by name."""
        return self._collect("agn_callbacks", RunCallback)

    def language(self, name: str) -> Language:
        """The language called `name`, or the one in the YAML file `name`. Raises UsageError with the nearest name."""
        if name.endswith((".yaml", ".yml")):
            return Language.from_yaml(Path(name))
        return self._find("language", name, self.languages())

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
        return self._find("dataset", name, adapters), None

    def reward(self, name: str) -> RewardPolicy:
        """The reward policy called `name`. Raises UsageError with the nearest name."""
        return self._find("reward policy", name, self.rewards())

    def algorithm(self, name: str) -> Algorithm:
        """The algorithm called `name`. Raises UsageError with the nearest name."""
        return self._find("algorithm", name, self.algorithms())

    def callback(self, name: str) -> RunCallback:
        """The run callback `name`. Raises UsageError with the nearest name."""
        return self._find("logger", name, self.callbacks())

    def origin(self, language: str) -> str:
        """The distribution that provides `language`, with its version."""
        self.languages()
        return self._origins["agn_languages", language]

    def add_commands(self, group: click.Group) -> None:
        """Let every plugin add its commands to `group`."""
        self._call("agn_commands", group=group)

    def run_started(self, run: str) -> None:
        """Tell every plugin that a run has begun."""
        self._call("agn_run_started", run=run)

    def program_verified(self, run: str, verification: Verification) -> None:
        """Tell every plugin about a verdict."""
        self._call("agn_program_verified", run=run, verification=verification)

    def step_finished(self, run: str, metrics: Mapping[str, float]) -> None:
        """Tell every plugin that a step is done."""
        self._call("agn_step_finished", run=run, metrics=metrics)

    def run_finished(self, run: str) -> None:
        """Tell every plugin that a run has ended."""
        self._call("agn_run_finished", run=run)

    def _load_all(self, entries: list[EntryPoint], allowed: Filter) -> None:
        by_name = defaultdict[str, list[EntryPoint]](list)
        for entry in entries:
            by_name[entry.name].append(entry)
        for entry in entries:
            self._load(entry, allowed, by_name[entry.name])

    def _load(self, entry: EntryPoint, allowed: Filter, namesakes: list[EntryPoint]) -> None:
        record = loader.record_of(entry)
        if self._disabled(record, allowed):
            return
        rivals = [r for r in map(loader.record_of, namesakes) if allowed.reason_against(r) is None]
        if len(rivals) > 1:
            self.records.append(record)
            both = " and ".join(r.distribution for r in rivals)
            self._failed(
                record, f"the plugin name {entry.name!r} is claimed by {both}; disable one with AGN_DISABLE_PLUGINS"
            )
            return
        try:
            loaded = loader.load(entry)
        except RuntimeError as error:
            self.records.append(record)
            self._failed(record, str(error))
            return
        self._add(record, loaded)

    def _add_own(self, pack: YamlPack, allowed: Filter) -> None:
        record = PluginRecord(pack.path.name, str(pack.path), "")
        if not self._disabled(record, allowed):
            self._add(record, pack)

    def _disabled(self, record: PluginRecord, allowed: Filter) -> bool:
        reason = allowed.reason_against(record)
        if reason:
            record.status, record.reason = "disabled", reason
            self.records.append(record)
        return reason is not None

    def _add(self, record: PluginRecord, loaded: Any) -> None:
        self.records.append(record)
        try:
            record.hooks = loader.check(self._manager, loaded)
            loader.register(self._manager, record.name, loaded)
        except RuntimeError as error:
            self._failed(record, str(error))
            return
        self._owners[record.name] = record

    def _failed(self, record: PluginRecord, reason: str) -> None:
        record.fail(reason)
        message = f"plugin {record.name} ({record.origin}): {reason}"
        if self._strict:
            raise MissingRequirement(f"{message}; AGN_STRICT_PLUGINS is set, so this ends here")
        log.warning("%s", message)

    def _call(self, hook: str, **arguments: Any) -> list[tuple[PluginRecord, Any]]:
        """Call `hook` in each plugin on its own: one that raises loses its own result only."""
        results = []
        for implementation in getattr(self._manager.hook, hook).get_hookimpls():
            name = implementation.plugin_name
            others = [p for n, p in self._manager.list_name_plugin() if n != name]
            try:
                answers = self._manager.subset_hook_caller(hook, others)(**arguments)
                results += [(self._owners[name], _materialised(answer)) for answer in answers]
            except (Exception, SystemExit) as error:
                self._failed(self._owners[name], f"{hook} raised {describe(error)}")
        return results

    def _collect(self, hook: str, kind: type[Any]) -> dict[str, Any]:
        if hook not in self._registered:
            claims = defaultdict[str, list[tuple[PluginRecord, Any]]](list)
            for record, answer in self._call(hook):
                for item in self._valid(hook, record, answer, kind):
                    claims[item.name].append((record, item))
            self._registered[hook] = {name: self._settle(hook, name, claim) for name, claim in claims.items()}
        return {name: item for name, item in self._registered[hook].items() if item is not None}

    def _valid(self, hook: str, record: PluginRecord, answer: Any, kind: type[Any]) -> list[Any]:
        if isinstance(answer, list) and all(isinstance(item, kind) for item in answer):
            return answer
        self._failed(record, f"{hook} must give {kind.__name__} objects, got {answer!r:.80}")
        return []

    def _settle(self, hook: str, name: str, claims: list[tuple[PluginRecord, Any]]) -> Any:
        """The item that holds `name`; None where two claim it, and both plugins say so."""
        if len(claims) == 1:
            record, item = claims[0]
            self._origins[hook, name] = record.origin
            return item
        both = " and ".join(record.distribution for record, _ in claims)
        self._contested[name] = f"{name!r} is claimed by {both}; disable one with AGN_DISABLE_PLUGINS"
        for record, _ in claims:
            self._failed(record, self._contested[name])
        return None

    def _find(self, what: str, name: str, known: dict[str, Named]) -> Named:
        if name in known:
            return known[name]
        if name in self._contested:
            raise UsageError(f"{what} {self._contested[name]}")
        raise unknown(what, name, known)

    def _trace(self) -> None:
        if os.environ.get("AGN_TRACE_HOOKS") == "1":
            self._manager.trace.root.setwriter(lambda text: log.warning("%s", text.rstrip()))
            self._manager.enable_tracing()


@cache
def load_plugins() -> PluginManager:
    """The host with the plugins that are installed here, and the user's own languages, as the environment allows."""
    strict = os.environ.get("AGN_STRICT_PLUGINS") == "1"
    return PluginManager(
        entry_points(group=specs.GROUP), Filter.from_environment(), own=own_packs(own_folder()), strict=strict
    )


def _materialised(answer: Any) -> Any:
    """An iterable answer as a list, so that a generator raises where it is guarded."""
    return list(answer) if isinstance(answer, Iterable) and not isinstance(answer, str | bytes | Mapping) else answer
