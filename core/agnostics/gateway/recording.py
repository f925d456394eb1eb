"""The record of a call of the model."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol


@dataclass(frozen=True, slots=True)
class ModelCall:
    """A call: its tokens as the model counts them (0 without a reply), the HTTP status, both bodies as texts."""

    at: datetime
    """Its beginning, in UTC."""
    api: str
    model: str
    prompt_tokens: int
    completion_tokens: int
    seconds: float
    status: int
    request: str
    response: str


class CallRecorder(Protocol):
    """Records the calls of one session; called on several threads at once."""

    def record(self, call: ModelCall) -> None:
        """Record a call, before its reply is sent."""
