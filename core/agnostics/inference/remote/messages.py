"""Messages between a trainer and an engine in another process."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from agnostics.inference.engine import Completion, CompletionRequest, EngineSettings, SamplingParams

TransferBackend = Literal["nccl", "ipc", "gloo"]
"""The transport of weights: between two GPUs, within one, or without any. The names are vLLM's, except gloo."""


@dataclass(frozen=True, slots=True)
class StartEngine:
    """The trainer's first message."""

    settings: EngineSettings
    transfer: TransferBackend


@dataclass(frozen=True, slots=True)
class AddRequest:
    """Queue a request. Its only reply is a `FinishedRequests`."""

    request_id: int
    request: CompletionRequest
    params: SamplingParams


@dataclass(frozen=True, slots=True)
class AbortAll:
    """Drop every unfinished request."""


@dataclass(frozen=True, slots=True)
class WorkerCall:
    """Call a method of vLLM's worker: one step of a weight transfer."""

    name: str
    arguments: dict[str, Any]


@dataclass(frozen=True, slots=True)
class ResumeSampling:
    """Sample with the transferred weights, which are those of this version."""

    version: int


@dataclass(frozen=True, slots=True)
class LoadAdapter:
    """Sample with these weights of the served adapter, a file of safetensors, which are those of this version."""

    weights: bytes
    version: int


@dataclass(frozen=True, slots=True)
class SetNumThreads:
    """Compute on `count` CPU threads."""

    count: int


@dataclass(frozen=True, slots=True)
class FinishedRequests:
    """Completions by request id; an empty list says that the engine is alive."""

    completions: list[tuple[int, Completion]]


@dataclass(frozen=True, slots=True)
class CallResult:
    """The reply to every message but `AddRequest`: done, or the error."""

    error: str | None = None


@dataclass(frozen=True, slots=True)
class SamplingFailed:
    """Sampling failed, and every unfinished request is dropped."""

    error: str
