"""Registries: the objects that plugins register through one hook, by name, all under the same rules."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from agnostics.plugins.hook_caller import HookCaller
from agnostics.plugins.loader import PluginRecord
from agnostics.types.errors import UsageError, unknown_name_error
from agnostics.types.language import NAME_PATTERN


class Named(Protocol):
    """An object that users choose by its name."""

    @property
    def name(self) -> str: ...


T = TypeVar("T", bound=Named)


@dataclass(frozen=True)
class RegistryHook(Generic[T]):
    """A hook that returns objects of the class `base`; `noun` names one of them in errors."""

    name: str
    base: type[Any]
    noun: str


class Registry(Generic[T]):
    """The objects that all plugins return from one hook.

    If an object is not of the base class or has no valid name, its plugin fails and loses the results of this hook. If
    two plugins register one name, both fail and neither has it.
    """

    def __init__(self, hook: RegistryHook[T], hooks: HookCaller) -> None:
        self._hook = hook
        self._owners: dict[str, PluginRecord] = {}
        self._items: dict[str, T] = {}
        self._conflicts: dict[str, str] = {}
        by_name = defaultdict[str, list[tuple[PluginRecord, T]]](list)
        for record, item in self._valid_results(hooks):
            by_name[item.name].append((record, item))
        for name, registered in by_name.items():
            if len(registered) == 1:
                self._owners[name], self._items[name] = registered[0]
            else:
                self._refuse(name, [record for record, _ in registered], hooks)

    def items(self) -> dict[str, T]:
        """The objects by name."""
        return dict(self._items)

    def origin(self, name: str) -> str:
        """The distribution that provides `name`, with its version. Raises KeyError for an unknown name."""
        return self._owners[name].origin

    def find(self, name: str) -> T:
        """The object called `name`. Raises UsageError with the nearest name, or with the plugins in conflict."""
        if name in self._items:
            return self._items[name]
        if name in self._conflicts:
            raise UsageError(self._conflicts[name])
        raise unknown_name_error(self._hook.noun, name, self._items)

    def _valid_results(self, hooks: HookCaller) -> Iterator[tuple[PluginRecord, T]]:
        for record, result in hooks.call(self._hook.name):
            if error := self._error_in(result):
                hooks.fail(record, f"{self._hook.name} {error}")
            else:
                yield from ((record, item) for item in result)

    def _error_in(self, result: Any) -> str | None:
        """The first violation of the registries' rules in what a plugin returned, or None."""
        base, noun = self._hook.base, self._hook.noun
        if not isinstance(result, list) or not all(isinstance(item, base) for item in result):
            return f"must return {base.__name__} objects, got {result!r:.80}"
        for name in (getattr(item, "name", None) for item in result):
            if not isinstance(name, str) or not re.fullmatch(NAME_PATTERN, name):
                return (
                    f"returned the {noun} name {name!r:.80}; names are lower-case letters and digits, then also _ + . -"
                )
        return None

    def _refuse(self, name: str, records: list[PluginRecord], hooks: HookCaller) -> None:
        both = " and ".join(record.distribution for record in records)
        conflict = f"{self._hook.noun} {name!r} is registered by {both}; disable one with AGN_DISABLE_PLUGINS"
        self._conflicts[name] = conflict
        for record in records:
            hooks.fail(record, conflict)
