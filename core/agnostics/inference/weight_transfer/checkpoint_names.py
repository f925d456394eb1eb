"""The names and shapes that weights have in a model's folder, which are those that vLLM reads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch


class CheckpointNames:
    """Converts weights from the form of the model in transformers to that of its folder.

    The two differ in mixtures of experts: a folder has each expert's matrices, the model one tensor of all experts.
    """

    def __init__(self, folder: Path) -> None:
        import torch
        from transformers import AutoConfig, AutoModelForCausalLM
        from transformers.conversion_mapping import get_model_conversion_mapping

        with torch.device("meta"):
            model: Any = AutoModelForCausalLM.from_config(AutoConfig.from_pretrained(folder))
        self._converted = model if get_model_conversion_mapping(model, add_legacy=False) else None

    def convert(self, weights: Iterable[tuple[str, torch.Tensor]]) -> Iterator[tuple[str, torch.Tensor]]:
        """The same weights by their names in the folder, one at a time, so that few exist twice."""
        if self._converted is None:
            yield from weights
            return
        from transformers.core_model_loading import revert_weight_conversion

        for name, weight in weights:
            yield from revert_weight_conversion(self._converted, {name: weight}).items()
