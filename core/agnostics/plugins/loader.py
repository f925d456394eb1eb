"""One plugin: its record, and the first three guards: filter by name, load, register whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.metadata import EntryPoint
from typing import Any, Literal

import pluggy

from agnostics.plugins import specs
from agnostics.plugins.contract import check_contract
from agnostics.types.errors import describe_error, unknown_name_error

Status = Literal["active", "disabled", "failed"]


@dataclass
class PluginRecord:
    """One plugin and its status. `reason` says why it is disabled or failed; `warning` is for its author."""

    name: str
    distribution: str
    version: str
    status: Status = "active"
    hooks: tuple[str, ...] = ()
    reason: str | None = None
    warning: str | None = None

    @property
    def origin(self) -> str:
        """The distribution with its version; a user's language has the path of its file instead."""
        return f"{self.distribution} {self.version}".rstrip()

    def fail(self, reason: str) -> None:
        """Mark the plugin as failed; a second reason is added to the first."""
        self.status = "failed"
        if self.reason is None:
            self.reason = reason
        elif reason not in self.reason:
            self.reason = f"{self.reason}; {reason}"


@dataclass(frozen=True)
class PluginFilter:
    """The plugins that may load: those in `AGN_PLUGINS` (all if it is unset), less those in `AGN_DISABLE_PLUGINS`.

    Plugins are named by their entry point or their distribution.
    """

    allowed: frozenset[str] | None
    disabled: frozenset[str]

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> PluginFilter:
        allowed = environment.get("AGN_PLUGINS")
        return cls(
            None if allowed is None else _names(allowed),
            _names(environment.get("AGN_DISABLE_PLUGINS", "")),
        )

    def reason_against(self, record: PluginRecord) -> str | None:
        """The reason why this plugin must not be loaded, or None."""
        names = {record.name, record.distribution}
        if self.disabled & names:
            return "named in AGN_DISABLE_PLUGINS"
        if self.allowed is not None and not self.allowed & names:
            return "not named in AGN_PLUGINS"
        return None


def plugin_record(entry: EntryPoint) -> PluginRecord:
    """The record of an entry point that is not loaded yet."""
    distribution = entry.dist
    if distribution is None:
        return PluginRecord(entry.name, "unknown", "0")
    return PluginRecord(entry.name, distribution.name, distribution.version)


def load(entry: EntryPoint) -> Any:
    """The plugin that `entry` names. Raises RuntimeError for any error in its import, even SystemExit."""
    try:
        return entry.load()
    except (Exception, SystemExit) as error:
        raise RuntimeError(f"importing {entry.value} failed: {describe_error(error)}") from error


def register(manager: pluggy.PluginManager, record: PluginRecord, plugin: Any) -> None:
    """Register `plugin` whole or not at all, and add its hooks and its warning to `record`.

    Raises RuntimeError if it does not keep the contract.
    """
    record.warning = check_contract(plugin)
    record.hooks = _implemented_hooks(manager, plugin)
    try:
        manager.register(plugin, record.name)
    except (pluggy.PluginValidationError, ValueError) as error:
        if manager.has_plugin(record.name):
            manager.unregister(name=record.name)
        raise RuntimeError(describe_error(error)) from error


def _implemented_hooks(manager: pluggy.PluginManager, plugin: Any) -> tuple[str, ...]:
    """The hooks that `plugin` implements. Raises RuntimeError for an unknown or unmarked one, and if there is none."""
    known = {name for name in vars(specs) if name.startswith("agn_")}
    names = [name for name in dir(plugin) if name.startswith("agn_") or manager.parse_hookimpl_opts(plugin, name)]
    for name in names:
        if name not in known:
            raise RuntimeError(str(unknown_name_error("hook", name, known)))
        if manager.parse_hookimpl_opts(plugin, name) is None:
            raise RuntimeError(f"{name} is not marked with @hookimpl")
    if not names:
        raise RuntimeError("implements no hook")
    return tuple(sorted(names))


def _names(value: str) -> frozenset[str]:
    return frozenset(_stripped(value.split(",")))


def _stripped(names: Iterable[str]) -> Iterable[str]:
    return (name.strip() for name in names if name.strip())
