"""Model resolution: from the name of a model, as people give it, to its folder."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from agnostics.models.loading import context_length, find_model
from agnostics.plugins.manager import PluginManager
from agnostics.types.errors import UsageError
from agnostics.util.paths import data_folder

STARTER = "starter"
"""The name of the starter model of a language."""


def resolve_model(
    name: str,
    plugins: PluginManager,
    language: str,
    *,
    sandbox: str = "auto",
    say: Callable[[str], None] = lambda _: None,
) -> Path:
    """The folder of the model `name`: `starter`, a training run (its last checkpoint), a folder, a GGUF file, or a name
    on the hub.

    The starter model is the one of `language`, always of the same seed; it is pretrained if it is not in the cache.
    Raises UsageError for an unknown model.
    """
    if name != STARTER:
        return _last_checkpoint(name) or find_model(name, say)
    from agnostics.models.starter.bootstrap import bootstrap

    dataset, _ = plugins.dataset(STARTER)
    return bootstrap(plugins.language(language), dataset, sandbox=sandbox, backends=plugins.sandboxes(), progress=say)


def completion_room(folder: Path, max_completion_tokens: int, key: str = "max_completion_tokens") -> int:
    """Tokens for a prompt beside a completion of `max_completion_tokens`.

    Raises UsageError, naming the setting `key`, if there are none.
    """
    room = context_length(folder) - max_completion_tokens
    if room < 1:
        raise UsageError(
            f"{key} = {max_completion_tokens} leaves no room for a prompt: "
            f"the model {folder} holds {room + max_completion_tokens} tokens"
        )
    return room


def _last_checkpoint(run: str) -> Path | None:
    """The last checkpoint of the training run `run` (its id, or its folder); None if it is none."""
    for folder in (Path(run).expanduser(), data_folder() / "runs" / run):
        if checkpoints := sorted(folder.glob("checkpoints/step-*")):
            return checkpoints[-1]
    return None
