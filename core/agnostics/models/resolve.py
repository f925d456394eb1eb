"""Which model an evaluation samples from, and how long its prompts may be."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from agnostics.evaluate.settings import EvaluationSettings
from agnostics.models.loading import context_length, find_model, load_tokenizer, stop_ids
from agnostics.models.starter.bootstrap import bootstrap
from agnostics.plugins.manager import PluginManager
from agnostics.train.config import RunConfig, output_folder
from agnostics.types.errors import UsageError


def model_folder(settings: EvaluationSettings, plugins: PluginManager, say: Callable[[str], None]) -> Path:
    """The folder of the model: the starter, a training run's last checkpoint, or what `find_model` finds."""
    if settings.model == "starter":
        dataset, _ = plugins.dataset("starter")
        language = plugins.language(settings.language)
        return bootstrap(language, dataset, seed=settings.seed, sandbox=settings.sandbox, progress=say)
    return _last_checkpoint(settings.model) or find_model(settings.model)


def answer_limits(folder: Path, settings: EvaluationSettings) -> tuple[Any, tuple[int, ...], int]:
    """The tokenizer, the tokens that end an answer, and the longest prompt that leaves room for one.

    Raises UsageError where none does.
    """
    tokenizer = load_tokenizer(folder)
    room = context_length(folder) - settings.max_completion_tokens
    if room < 1:
        raise UsageError(
            f"max_completion_tokens = {settings.max_completion_tokens} leaves no room for a prompt: "
            f"the model {folder} holds {room + settings.max_completion_tokens} tokens"
        )
    return tokenizer, stop_ids(folder, tokenizer), min(settings.max_prompt_tokens, room)


def _last_checkpoint(run: str) -> Path | None:
    """The last checkpoint of the training run `run` (its id, or its folder), None where that is none."""
    for folder in (Path(run).expanduser(), output_folder(RunConfig()) / run):
        if found := sorted(folder.glob("checkpoints/step-*")):
            return found[-1]
    return None
