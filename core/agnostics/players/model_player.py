"""Players that ask a model: where it is, and how its calls are recorded."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from agnostics.gateway.conversation import ModelBackend
from agnostics.players.player import Game, Player
from agnostics.types.errors import UsageError

_KEY = "OPENAI_API_KEY"
OUTPUT_TOKENS = 32_768
"""Of a reply, where the protocol has no limit."""


@dataclass
class ModelPlayer(Player):
    """A player that asks a model: one behind an OpenAI-compatible endpoint, or without one, one of this machine."""

    endpoint: str = ""
    """The URL of the endpoint, with /v1."""
    model: str = ""
    """The name of the model at the endpoint; or a GGUF file, a folder, a training run, or a name on the hub."""
    key_from: str = _KEY
    """The environment variable with the key of the endpoint."""
    timeout_s: float = 600.0
    """The silence of the endpoint that ends a request."""
    context_tokens: Annotated[int, Field(ge=1024)] = 131_072
    """The longest conversation that the model takes; many agents shorten one before."""
    engine: str = ""
    """The inference engine of a model of this machine; vllm where it is installed, else transformers."""
    dtype: Literal["float32", "bfloat16"] = "float32"
    """The type of its weights."""
    kv_cache_gib: Annotated[int, Field(ge=1)] = 1
    """Memory for its keys and values."""
    seed: int = 0
    """Decides what it samples."""

    @property
    def is_local(self) -> bool:
        """Whether the model is one of this machine."""
        return not self.endpoint

    def check_requirements(self) -> None:
        """Raise UsageError without a model, or MissingRequirement without the package `openai` for an endpoint."""
        if not self.model:
            raise UsageError(
                f"the player {self.name!r} asks a model: --set model=NAME, a GGUF file, a folder or a name on the hub; "
                "and --set endpoint=URL if it is behind one"
            )
        if not self.is_local:
            with self._remote():
                pass

    @contextmanager
    def backend(self, game: Game) -> Iterator[ModelBackend]:
        """The model."""
        if game.backend:
            yield game.backend
        else:
            with self._remote() as backend:
                yield backend

    @contextmanager
    def _remote(self) -> Iterator[ModelBackend]:
        from agnostics.gateway.endpoint import EndpointBackend
        from agnostics.inference.openai_client import Endpoint

        key = os.environ.get(self.key_from)
        if key is None and self.key_from != _KEY:
            raise UsageError(f"--set key_from={self.key_from}: that variable is not set; export {self.key_from}=KEY")
        with Endpoint(self.endpoint, self.model, key, timeout_s=self.timeout_s) as endpoint:
            yield EndpointBackend(endpoint)
