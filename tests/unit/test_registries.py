"""Registries: objects of all kinds are registered by plugins under the same rules."""

from __future__ import annotations

from collections.abc import Iterable
from types import ModuleType
from typing import Any

import pytest
from agnostics import (
    Algorithm,
    Engine,
    EngineProvider,
    EngineSettings,
    Language,
    MissingRequirement,
    UsageError,
    hookimpl,
)
from agnostics.inference.provider import TransformersProvider
from agnostics.plugins.hook_caller import HookCaller
from agnostics.plugins.loader import PluginFilter, PluginRecord
from agnostics.plugins.manager import ALGORITHMS, ENGINES, LANGUAGES, REGISTRY_HOOKS, PluginManager
from agnostics.plugins.registry import Registry

BUILT_IN = PluginManager((), PluginFilter(None, frozenset()))


class Recorded(EngineProvider):
    """An engine that cannot be opened."""

    name = "recorded"

    def open(self, settings: EngineSettings) -> Engine:
        raise MissingRequirement(f"no recording in {settings.folder}")


def plugin(hook: str, *items: Any) -> ModuleType:
    """A plugin that returns `items` from `hook`."""

    @hookimpl
    def implementation() -> Iterable[Any]:
        return items

    module = ModuleType("pack")
    vars(module).update({"AGN_CONTRACT": 2, hook: implementation})
    return module


def registered(**plugins: Any) -> tuple[HookCaller, dict[str, PluginRecord]]:
    hooks = HookCaller()
    for name, one in plugins.items():
        hooks.register(PluginRecord(name, f"pack-{name}", "1.0"), one)
    return hooks, {record.name: record for record in hooks.records}


def test_the_built_in_engines_are_registered() -> None:
    assert list(BUILT_IN.engines()) == ["vllm", "transformers"]
    assert isinstance(BUILT_IN.engine("transformers"), TransformersProvider)


def test_the_built_in_sandboxes_are_registered() -> None:
    assert sorted(BUILT_IN.sandboxes()) == ["bubblewrap", "docker", "process"]


def test_an_unknown_engine_is_an_error_with_the_nearest_name() -> None:
    with pytest.raises(UsageError, match="unknown engine 'vlm'; did you mean 'vllm'\\?"):
        BUILT_IN.engine("vlm")


def test_an_engine_without_its_package_names_the_command_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agnostics.inference.provider.find_spec", lambda _: None)
    with pytest.raises(MissingRequirement, match=r"needs vllm; run: pip install 'agnostics\[vllm\]'"):
        BUILT_IN.engine("vllm").check_requirements()
    with pytest.raises(MissingRequirement, match="needs torch and transformers; run: pip install"):
        BUILT_IN.engine("transformers").check_requirements()


def test_an_engine_of_a_plugin_is_found_by_its_name() -> None:
    hooks, records = registered(good=plugin("agn_engines", Recorded()))
    registry = Registry(ENGINES, hooks)
    assert isinstance(registry.find("recorded"), Recorded)
    assert registry.origin("recorded") == "pack-good 1.0"
    assert records["good"].status == "active"


@pytest.mark.parametrize("hook", REGISTRY_HOOKS, ids=lambda hook: hook.name)
def test_every_registry_refuses_an_object_of_another_class_in_the_same_words(hook: Any) -> None:
    hooks, records = registered(bad=plugin(hook.name, "a text"))
    assert Registry(hook, hooks).items() == {}
    assert records["bad"].reason == f"{hook.name} must return {hook.base.__name__} objects, got ['a text']"


@pytest.mark.parametrize("hook", REGISTRY_HOOKS, ids=lambda hook: hook.name)
@pytest.mark.parametrize("name", ["", "Two Words", 3, None])
def test_every_registry_refuses_a_name_that_users_cannot_give(hook: Any, name: object) -> None:
    hooks, records = registered(bad=plugin(hook.name, instance(hook, name)))
    assert Registry(hook, hooks).items() == {}
    assert (records["bad"].reason or "").startswith(f"{hook.name} returned the {hook.noun} name {name!r}; ")


@pytest.mark.parametrize("hook", REGISTRY_HOOKS, ids=lambda hook: hook.name)
def test_every_registry_gives_a_name_of_two_plugins_to_neither(hook: Any) -> None:
    hooks, records = registered(**{x: plugin(hook.name, instance(hook, "twin")) for x in "ab"})
    registry = Registry(hook, hooks)
    conflict = f"{hook.noun} 'twin' is registered by pack-a and pack-b; disable one with AGN_DISABLE_PLUGINS"
    assert registry.items() == {}
    assert {record.reason for record in records.values()} == {conflict}
    with pytest.raises(UsageError, match=conflict):
        registry.find("twin")


def instance(hook: Any, name: object) -> Any:
    """An object of the hook's base class with this name."""
    if hook is LANGUAGES:
        return Language.model_construct(name=name)
    if hook is ALGORITHMS:
        return Algorithm(name=name, source="nowhere")  # type: ignore[arg-type]
    methods = dict.fromkeys(getattr(hook.base, "__abstractmethods__", ()))
    return type("Concrete", (hook.base,), {**methods, "name": name})()
