"""What a rollout engine does: sample answers token by token, say how likely each token was, take new weights."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol, Self

from agnostics.trajectory import Segment, Trajectory

if TYPE_CHECKING:
    import torch

FinishReason = Literal["stop", "length"]


@dataclass(frozen=True, slots=True)
class EngineSettings:
    """What an engine needs to know when it starts. `stop_ids` end an answer and belong to it."""

    folder: Path
    stop_ids: tuple[int, ...]
    max_length: int
    """Tokens of a prompt and its answer together."""
    max_running: int
    """Answers that are sampled at the same time."""
    dtype: Literal["float32", "bfloat16"] = "float32"
    kv_cache_gib: int = 1
    """Memory for vLLM's keys and values, in GiB."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """One answer that is asked for: a prompt's token ids, and the seed that decides the answer's tokens."""

    token_ids: tuple[int, ...]
    seed: int


@dataclass(frozen=True, slots=True)
class Sampling:
    """How answers are sampled. There is no top-p or top-k: they would bias the importance ratio."""

    temperature: float
    max_new_tokens: int


@dataclass(frozen=True, slots=True)
class Answer:
    """What was sampled: token ids (the stop token too), their log-probabilities at the sampling temperature."""

    token_ids: tuple[int, ...]
    logprobs: tuple[float, ...]
    finish_reason: FinishReason
    version: int

    def after(self, prompt: Prompt) -> Trajectory:
        """The trajectory of this answer to `prompt`."""
        return Trajectory(prompt.token_ids, (Segment.spoken(self.token_ids, self.logprobs, self.version),))


class Engine(Protocol):
    """An engine that holds one model. Leaving it as a context manager frees the model."""

    @property
    def version(self) -> int:
        """How many updates the weights in use have had."""

    def generate(self, prompts: Sequence[Prompt], sampling: Sampling) -> Iterator[tuple[int, Answer]]:
        """Answer every prompt; answers come as they end, each with the index of its prompt.

        The same prompt, seed, sampling and weights give the same tokens, whatever else is sampled beside them.
        """

    def load_weights(self, weights: Iterable[tuple[str, torch.Tensor]], version: int) -> None:
        """Replace all weights, by their names in the model's folder; what was cached of the old ones is forgotten."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *exception: object) -> None: ...


def seed_for(*parts: int | str) -> int:
    """A seed of 63 bits for one sample, from what it belongs to: run seed, phase, step, task, sample."""
    digest = hashlib.blake2b("/".join(map(str, parts)).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") >> 1


def open_engine(name: Literal["vllm", "transformers"], settings: EngineSettings) -> Engine:
    """The engine called `name`, with the model of `settings.folder` loaded."""
    if name == "vllm":
        from agnostics.rollout.vllm import VllmEngine

        return VllmEngine(settings)
    from agnostics.rollout.transformers import TransformersEngine

    return TransformersEngine(settings)
