"""What a trainer and an engine in another process say to each other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from agnostics.inference.engine import Answer, EngineSettings, Prompt, Sampling

Transfer = Literal["nccl", "ipc", "gloo"]
"""How weights travel: between two GPUs, within one, or without any. The names are vLLM's, but for gloo."""


@dataclass(frozen=True, slots=True)
class Opening:
    """The first thing that the trainer says."""

    settings: EngineSettings
    transfer: Transfer
    parent: int


@dataclass(frozen=True, slots=True)
class Ask:
    """Have a prompt answered. There is no reply but `Ended`."""

    key: int
    prompt: Prompt
    sampling: Sampling


@dataclass(frozen=True, slots=True)
class Drop:
    """Forget what was asked."""


@dataclass(frozen=True, slots=True)
class WorkerCall:
    """Have vLLM's worker do one of its steps of a weight transfer."""

    name: str
    arguments: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Begin:
    """Go on sampling: the weights have come, and are those of this version."""

    version: int


@dataclass(frozen=True, slots=True)
class UseThreads:
    """Go on with so many threads."""

    count: int


@dataclass(frozen=True, slots=True)
class Ended:
    """Answers that have ended; now and then none, which says that the engine is alive."""

    answers: list[tuple[int, Answer]]


@dataclass(frozen=True, slots=True)
class Reply:
    """What came of anything but `Ask`: done, or what went wrong."""

    error: str | None = None


@dataclass(frozen=True, slots=True)
class Failed:
    """Sampling went wrong, and everything that was asked is forgotten."""

    error: str
