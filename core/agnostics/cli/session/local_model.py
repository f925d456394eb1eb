"""The model of a player that is one of this machine: found before its session begins, and loaded to play it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from agnostics.cli.libraries import configure_libraries, training_packages
from agnostics.cli.output import console
from agnostics.plugins.manager import PluginManager
from agnostics.util.imports import without_garbage_collection
from agnostics.util.settings import absolute_model

if TYPE_CHECKING:
    from agnostics.gateway.conversation import ModelBackend
    from agnostics.players.model_player import ModelPlayer
    from agnostics.players.player import Player


def with_local_model(player: Player, plugins: PluginManager, language: str, sandbox: str) -> Player:
    """The player with a name of its model that is valid from any folder, if it is a model of this machine.

    Raises UsageError or MissingRequirement if it cannot be loaded.
    """
    local = _local(player)
    if local is None:
        return player
    local = replace(local, model=absolute_model(local.model))
    _folder(local, plugins, language, sandbox)
    return local


def model_name(player: Player) -> str:
    """The name of the player's model in reports: that of its file or folder, if it has one."""
    path = Path(player.model)
    return path.name.removesuffix(".gguf") if path.is_absolute() else player.model


@contextmanager
def opened_model(player: Player, plugins: PluginManager, language: str, sandbox: str) -> Iterator[ModelBackend | None]:
    """The player's model, loaded, if it is one of this machine."""
    local = _local(player)
    if local is None:
        yield None
        return
    folder = _folder(local, plugins, language, sandbox)
    from agnostics.models.player_model import open_player_model

    with open_player_model(local, model_name(player), folder, plugins, _say) as backend:
        yield backend


def _local(player: Player) -> ModelPlayer | None:
    from agnostics.players.model_player import ModelPlayer

    return player if isinstance(player, ModelPlayer) and player.is_local else None


def _folder(player: ModelPlayer, plugins: PluginManager, language: str, sandbox: str) -> Path:
    configure_libraries()
    with training_packages():
        with without_garbage_collection():
            from agnostics.models.player_model import player_model

        return player_model(player, plugins, language, sandbox, _say)


def _say(text: str) -> None:
    console.print(text, markup=False, soft_wrap=True)
