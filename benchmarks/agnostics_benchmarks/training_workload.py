"""The workload that trainers are measured on: one configuration for all of them."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from operator import methodcaller
from pathlib import Path
from typing import Any, Literal

from agnostics.models.stop_tokens import END_TOKENS
from agnostics.train.config import RunConfig, load_config

from agnostics_benchmarks.trainers import Measured

WARM_UP = 2
"""Steps before those measured: the sandbox's slots start, memory is allocated, kernels are compiled."""
MAX_OFF_POLICY_STEPS = 1
"""Maximum number of updates between sampling and training in the overlapped trainer.

As many steps follow those measured, so that it continues to sample ahead while it is measured.
"""
_ENDS = {
    "config.json": "eos_token_id",
    "generation_config.json": "eos_token_id",
    "tokenizer_config.json": "eos_token",
}
_NAMES = ("tokenizer.json", "tokenizer_config.json", "chat_template.jinja")

EngineName = Literal["vllm", "transformers"]


@dataclass(frozen=True)
class Size:
    """Rollouts of a step, and number of measured steps."""

    prompts: int
    group: int
    max_completion_tokens: int
    steps: int
    dtype: Literal["float32", "bfloat16"]


SIZES = {"cpu": Size(8, 8, 96, 6, "float32"), "cuda": Size(32, 32, 1024, 10, "bfloat16")}
"""By device."""


@dataclass(frozen=True)
class TrainingWorkload:
    """Configuration that every trainer receives."""

    language: str
    model: Path
    engine: EngineName
    size: Size
    sets: tuple[str, ...] = ()
    """Settings of the run that are changed, as in `agn run --set`."""

    def config(self, seed: int) -> RunConfig:
        """The run with this seed, with the steps before and after those measured; nothing is saved between them."""
        size, steps = self.size, WARM_UP + self.size.steps + MAX_OFF_POLICY_STEPS
        settings = (
            *(f"seed={seed}", f"steps={steps}", f"checkpoint_interval={steps}", "evaluation.tasks=0"),
            *(f"rollout.engine={self.engine}", f"rollout.max_completion_tokens={size.max_completion_tokens}"),
            *(f"rollout.prompts_per_step={size.prompts}", f"rollout.group_size={size.group}"),
            *("rollout.temperature=1.0", "train.learning_rate=2e-4", "train.warmup_epochs=0.0"),
            f"train.dtype={size.dtype}",
        )
        return load_config(None, [*settings, *self.sets], {"language": self.language, "model": str(self.model)})

    @property
    def measured(self) -> Measured:
        """The steps that count."""
        return Measured(WARM_UP, WARM_UP + self.size.steps)

    def endless(self, folder: Path) -> TrainingWorkload:
        """The same with completions of fixed length: `folder` becomes the model without a stop token.

        No file names one, and those of its family have other names, so that no trainer takes them for stop tokens.
        """
        shutil.copytree(self.model, folder)
        for name, key in _ENDS.items():
            _rewrite(folder / name, partial(_without, key))
        family = json.loads((folder / "config.json").read_text(encoding="utf-8")).get("model_type")
        for end in END_TOKENS.get(family, ()):
            for name in _NAMES:
                _rewrite(folder / name, methodcaller("replace", end, f"{end[:-1]}~>"))
        return replace(self, model=folder)

    def as_dict(self) -> dict[str, Any]:
        """The workload as a report states it."""
        config = self.config(seed=0)
        return {
            "language": config.language,
            "model": config.model,
            "engine": config.rollout.engine,
            "dtype": config.train.dtype,
            "prompts": config.rollout.prompts_per_step,
            "group": config.rollout.group_size,
            "max_completion_tokens": config.rollout.max_completion_tokens,
            "sets": list(self.sets),
            "warm_up": WARM_UP,
            "steps": self.size.steps,
            "max_off_policy_steps": MAX_OFF_POLICY_STEPS,
        }


def _rewrite(path: Path, change: Callable[[str], str]) -> None:
    if path.exists():
        path.write_text(change(path.read_text(encoding="utf-8")), encoding="utf-8")


def _without(key: str, text: str) -> str:
    return json.dumps({**json.loads(text), key: None})
