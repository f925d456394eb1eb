"""Hook calls, plugin by plugin: a plugin whose implementation raises loses only its own result."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Mapping
from typing import Any

import pluggy

from agnostics.plugins import loader, specs
from agnostics.plugins.loader import PluginRecord
from agnostics.types.errors import MissingRequirement, describe_error

log = logging.getLogger("agnostics")


class HookCaller:
    """The registered plugins, their hooks, and a record of each plugin's status.

    A failure is logged in one line; with `strict` it raises MissingRequirement instead.
    """

    def __init__(self, *, strict: bool = False) -> None:
        self.records: list[PluginRecord] = []
        self._strict = strict
        self._manager = pluggy.PluginManager(specs.GROUP)
        self._manager.add_hookspecs(specs)
        self._registered: dict[str, PluginRecord] = {}
        if os.environ.get("AGN_TRACE_HOOKS") == "1":
            self._manager.trace.root.setwriter(lambda text: log.warning("%s", text.rstrip()))
            self._manager.enable_tracing()

    def register(self, record: PluginRecord, plugin: Any) -> None:
        """Register `plugin`, or record why it cannot be."""
        self.records.append(record)
        try:
            loader.register(self._manager, record, plugin)
        except RuntimeError as error:
            self.fail(record, str(error))
            return
        self._registered[record.name] = record
        if record.warning:
            log.warning("plugin %s (%s): %s", record.name, record.origin, record.warning)

    def fail(self, record: PluginRecord, reason: str) -> None:
        """Mark the plugin of `record` as failed."""
        record.fail(reason)
        message = f"plugin {record.name} ({record.origin}): {reason}"
        if self._strict:
            raise MissingRequirement(f"{message}; stopped, because AGN_STRICT_PLUGINS is set")
        log.warning("%s", message)

    def call(self, hook: str, **arguments: Any) -> list[tuple[PluginRecord, Any]]:
        """The result of `hook` from each plugin that implements it and does not raise."""
        results = []
        for implementation in getattr(self._manager.hook, hook).get_hookimpls():
            record = self._registered[implementation.plugin_name]
            others = [plugin for name, plugin in self._manager.list_name_plugin() if name != record.name]
            try:
                answers = self._manager.subset_hook_caller(hook, others)(**arguments)
                results += [(record, _as_list(answer)) for answer in answers]
            except (Exception, SystemExit) as error:
                self.fail(record, f"{hook} raised {describe_error(error)}")
        return results


def _as_list(result: Any) -> Any:
    """An iterable result as a list, so that a generator raises inside the guard."""
    return list(result) if isinstance(result, Iterable) and not isinstance(result, str | bytes | Mapping) else result
