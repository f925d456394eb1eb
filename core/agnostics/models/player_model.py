"""The model of a player of agent sessions, on this machine."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from agnostics.gateway.limits import GatewayLimits
from agnostics.inference.engine import EngineSettings
from agnostics.inference.provider import default_engine, open_engine
from agnostics.models.loading import context_length, default_temperature, load_tokenizer, stop_ids
from agnostics.models.resolve import resolve_model
from agnostics.models.shape import shape_of
from agnostics.players.model_player import ModelPlayer
from agnostics.plugins.manager import PluginManager
from agnostics.profiling.spans import SpanRecorder
from agnostics.rollout.conversation import ConversationRenderer
from agnostics.rollout.engine_backend import EngineBackend
from agnostics.rollout.engine_loop import EngineLoop
from agnostics.rollout.prompts import ConversationSettings

Say = Callable[[str], None]
_BYTES = {"float32": 4, "bfloat16": 2}
_BLOCK = 128
"""Tokens for which vLLM takes memory at once, or a multiple of them."""


def player_model(player: ModelPlayer, plugins: PluginManager, language: str, sandbox: str, say: Say) -> Path:
    """The folder of the model that `player` names; a GGUF file is converted.

    Raises UsageError if there is no such model or engine, MissingRequirement if the engine lacks a package.
    """
    plugins.engine(player.engine or default_engine()).check_requirements()
    return resolve_model(player.model, plugins, language, sandbox=sandbox, say=say)


@contextmanager
def open_player_model(
    player: ModelPlayer, name: str, folder: Path, plugins: PluginManager, say: Say
) -> Iterator[EngineBackend]:
    """An engine with the model in `folder`, called `name`, as `player` wants it."""
    tokenizer = load_tokenizer(folder)
    engine, stops = player.engine or default_engine(), stop_ids(folder, tokenizer)
    settings = EngineSettings(
        folder=folder,
        stop_ids=stops,
        max_length=min(player.context_tokens, context_length(folder), cached_tokens(player, folder)),
        max_num_seqs=GatewayLimits().concurrent,
        dtype=player.dtype,
        kv_cache_gib=player.kv_cache_gib,
    )
    say(f"loading {folder} into {engine}, for conversations of up to {settings.max_length} tokens")
    with (
        open_engine(engine, settings, providers=plugins.engines()) as opened,
        EngineLoop(opened, SpanRecorder()) as loop,
    ):
        yield EngineBackend(
            name,
            loop,
            ConversationRenderer(tokenizer, ConversationSettings(), stops),
            settings.max_length,
            temperature=default_temperature(folder),
            seed=player.seed,
        )


def cached_tokens(player: ModelPlayer, folder: Path) -> int:
    """The longest conversation whose keys and values fit into the player's memory for them."""
    fitting = (player.kv_cache_gib << 30) // (shape_of(folder).cached_numbers * _BYTES[player.dtype])
    return fitting - fitting % _BLOCK
