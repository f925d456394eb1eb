"""The low-rank adapter that vLLM serves beside the weights it loaded: a folder in peft's format, replaced in place."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from agnostics.inference.engine import AdapterSettings
from agnostics.util.files import atomic_write

if TYPE_CHECKING:
    import torch

_NAME, _ID = "policy", 1


class ServedAdapter:
    """An adapter in a temporary folder, where vLLM's workers read it. Leaving it as a context manager removes it."""

    def __init__(self, settings: AdapterSettings) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="agn-adapter-")
        config = {"r": settings.rank, "lora_alpha": settings.alpha, "target_modules": list(settings.modules)}
        text = json.dumps({"peft_type": "LORA", "bias": "none", **config})
        (self._path / "adapter_config.json").write_text(text, encoding="utf-8")

    def replace(self, weights: bytes) -> None:
        """Replace the weights by those of a file of safetensors; vLLM may still have the last one mapped."""
        with atomic_write(self._path / "adapter_model.safetensors") as file:
            file.write(weights)

    def request(self, *, load: bool = False) -> Any:
        """The adapter as vLLM's requests name it; with `load` what was loaded of it before is replaced."""
        from vllm.lora.request import LoRARequest

        return LoRARequest(_NAME, _ID, str(self._path), load_inplace=load)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self._folder.cleanup()

    @property
    def _path(self) -> Path:
        return Path(self._folder.name)


def serialized(weights: Iterable[tuple[str, torch.Tensor]]) -> bytes:
    """The weights of an adapter, by their names in peft's format, as a file of safetensors."""
    from safetensors.torch import save

    return save({name: weight.detach().contiguous() for name, weight in weights})


def adapter_options(settings: AdapterSettings | None) -> dict[str, Any]:
    """The options of vLLM for serving one adapter; without one there are none.

    The layers are named, because vLLM's default includes the head, whose part of an adapter is as long as the
    vocabulary.
    """
    if settings is None:
        return {}
    return {
        "enable_lora": True,
        "max_loras": 1,
        "max_lora_rank": settings.buffer_rank,
        "lora_target_modules": list(settings.modules),
    }
