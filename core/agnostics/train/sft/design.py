"""Designs of scaling experiments: the runs of `agn sft` that a design file asks for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Self

from pydantic import Field, model_validator

from agnostics.analysis.scaling.design import sobol_candidates
from agnostics.train.sft.config import SftConfig, load_sft_config
from agnostics.types.errors import UsageError
from agnostics.types.task import Frozen
from agnostics.util.settings import PositiveFloat, PositiveInt, load_settings


class ScaleConfig(Frozen):
    """A scale of compute: a model, its training tokens, and the ranges that candidates are drawn from."""

    model: str
    """The model: what `agn sft --model` takes."""
    tokens: PositiveInt
    """Training tokens. The same number per parameter at every scale keeps the ratio of data to model."""
    batch_tokens: tuple[PositiveInt, PositiveInt]
    """The smallest and the largest batch size, in tokens."""
    learning_rate: tuple[PositiveFloat, PositiveFloat]
    """The lowest and the highest learning rate."""

    @model_validator(mode="after")
    def _ranges_ascend(self) -> Self:
        for name in ("batch_tokens", "learning_rate"):
            low, high = getattr(self, name)
            if low >= high:
                raise ValueError(f"{name} = [{low}, {high}]: the first is not below the second")
        return self


class DesignConfig(Frozen):
    """A scaling experiment."""

    config: str
    """A configuration of `agn sft`: everything but the model, the tokens, the batch size and the learning rate."""
    candidates: PositiveInt = 16
    """Runs at each scale, a power of two."""
    seed: int = 0
    """Decides the candidates."""
    scales: Annotated[tuple[ScaleConfig, ...], Field(min_length=1)]
    """The scales, in any order."""

    @model_validator(mode="after")
    def _is_balanced(self) -> Self:
        if self.candidates & (self.candidates - 1):
            raise ValueError(f"candidates = {self.candidates}: a Sobol design needs a power of two")
        return self


@dataclass(frozen=True, slots=True)
class DesignedRun:
    """A run of a design; `name` says its scale and its candidate, both from 1."""

    name: str
    config: SftConfig


def designed_runs(path: Path) -> Iterator[DesignedRun]:
    """The runs of the design file `path`. Raises UsageError for a bad design, or a configuration without validation."""
    design = load_settings(DesignConfig, path, (), {})
    base = load_sft_config(Path(design.config), (), {})
    if base.validation is None:
        raise UsageError(f"{design.config}: name a file of examples as validation.path: its loss decides between runs")
    for number, scale in enumerate(design.scales, start=1):
        # Another scrambling for each scale, or all of them would try the same places of their ranges.
        seed = design.seed * len(design.scales) + number
        drawn = sobol_candidates(design.candidates, scale.batch_tokens, scale.learning_rate, seed)
        for place, candidate in enumerate(drawn, start=1):
            rates = {"batch_tokens": candidate.batch_tokens, "learning_rate": candidate.learning_rate}
            train = base.train.model_copy(update=rates)
            length = {"tokens": scale.tokens, "steps": None}
            config = base.model_copy(update={**length, "model": scale.model, "train": train})
            yield DesignedRun(f"scale-{number}-{place:03}", config)
