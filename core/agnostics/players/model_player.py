"""Players that ask a model: where it is, and how its calls are recorded."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from agnostics.gateway.conversation import ModelBackend
from agnostics.players.player import Player
from agnostics.types.errors import UsageError

_KEY = "OPENAI_API_KEY"


@dataclass
class ModelPlayer(Player):
    """A player whose model is behind an OpenAI-compatible endpoint."""

    endpoint: str = ""
    """The URL of the endpoint, with /v1."""
    model: str = ""
    """The name of the model at the endpoint."""
    key_from: str = _KEY
    """The environment variable with the key of the endpoint."""
    timeout_s: float = 600.0
    """The silence of the endpoint that ends a request."""

    def check_requirements(self) -> None:
        """Raise UsageError without an endpoint and a model, or MissingRequirement without the package `openai`."""
        for option in ("endpoint", "model"):
            if not getattr(self, option):
                raise UsageError(f"the player {self.name!r} asks a model: --set endpoint=URL --set model=NAME")
        with self.backend():
            pass

    @contextmanager
    def backend(self) -> Iterator[ModelBackend]:
        """The model."""
        from agnostics.gateway.endpoint import EndpointBackend
        from agnostics.inference.openai_client import Endpoint

        key = os.environ.get(self.key_from)
        if key is None and self.key_from != _KEY:
            raise UsageError(f"--set key_from={self.key_from}: that variable is not set; export {self.key_from}=KEY")
        with Endpoint(self.endpoint, self.model, key, timeout_s=self.timeout_s) as endpoint:
            yield EndpointBackend(endpoint)
