"""One plugin: where it comes from, and the first three guards: filter by name, load, check against the contract."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.metadata import EntryPoint
from typing import Any, Literal

import pluggy

from agnostics.plugins import specs
from agnostics.types.errors import describe_error, unknown_name_error

Status = Literal["active", "disabled", "failed"]


@dataclass
class PluginRecord:
    """What became of one plugin. `reason` says why it is disabled or failed."""

    name: str
    distribution: str
    version: str
    status: Status = "active"
    hooks: tuple[str, ...] = ()
    reason: str | None = None

    @property
    def origin(self) -> str:
        """The distribution with its version; of a file, which has none, its path."""
        return f"{self.distribution} {self.version}".rstrip()

    def fail(self, reason: str) -> None:
        """Mark the plugin as failed; a second reason is added to the first."""
        self.status = "failed"
        if self.reason is None:
            self.reason = reason
        elif reason not in self.reason:
            self.reason = f"{self.reason}; {reason}"


@dataclass(frozen=True)
class Filter:
    """Which plugins may load: those in `AGN_PLUGINS` (all where it is unset), less those in `AGN_DISABLE_PLUGINS`.

    Plugins are named by their entry point or their distribution.
    """

    allowed: frozenset[str] | None
    disabled: frozenset[str]

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> Filter:
        allowed = environment.get("AGN_PLUGINS")
        return cls(
            None if allowed is None else _names(allowed),
            _names(environment.get("AGN_DISABLE_PLUGINS", "")),
        )

    def reason_against(self, record: PluginRecord) -> str | None:
        """Why this plugin is not to be loaded, or None."""
        names = {record.name, record.distribution}
        if self.disabled & names:
            return "named in AGN_DISABLE_PLUGINS"
        if self.allowed is not None and not self.allowed & names:
            return "not named in AGN_PLUGINS"
        return None


def record_of(entry: EntryPoint) -> PluginRecord:
    """The record of an entry point that is not loaded yet."""
    distribution = entry.dist
    if distribution is None:
        return PluginRecord(entry.name, "unknown", "0")
    return PluginRecord(entry.name, distribution.name, distribution.version)


def load(entry: EntryPoint) -> Any:
    """The plugin that `entry` names. Raises RuntimeError, whatever its import raised, even SystemExit."""
    try:
        return entry.load()
    except (Exception, SystemExit) as error:
        raise RuntimeError(f"importing {entry.value} failed: {describe_error(error)}") from error


def check(manager: pluggy.PluginManager, plugin: Any) -> tuple[str, ...]:
    """The hooks that `plugin` implements. Raises RuntimeError where it does not keep to the contract."""
    supported = getattr(plugin, "AGN_HOOK_CONTRACT", range(specs.HOOK_CONTRACT, specs.HOOK_CONTRACT + 1))
    if specs.HOOK_CONTRACT not in supported:
        raise RuntimeError(f"supports hook contract {supported}, this is contract {specs.HOOK_CONTRACT}")
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


def register(manager: pluggy.PluginManager, name: str, plugin: Any) -> None:
    """Register `plugin` whole or not at all. Raises RuntimeError where pluggy refuses one of its hooks."""
    try:
        manager.register(plugin, name)
    except (pluggy.PluginValidationError, ValueError) as error:
        if manager.has_plugin(name):
            manager.unregister(name=name)
        raise RuntimeError(describe_error(error)) from error


def _names(value: str) -> frozenset[str]:
    return frozenset(_stripped(value.split(",")))


def _stripped(names: Iterable[str]) -> Iterable[str]:
    return (name.strip() for name in names if name.strip())
