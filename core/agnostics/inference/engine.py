"""What a rollout engine does: sample answers token by token, say how likely each token was, take new weights."""

from __future__ import annotations

import hashlib
from collections.abc import Generator, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol, Self

from agnostics.types.rollout import Segment, Trajectory

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
    max_num_seqs: int
    """Answers that are sampled at the same time."""
    dtype: Literal["float32", "bfloat16"] = "float32"
    kv_cache_gib: int = 1
    """Memory for vLLM's keys and values, in GiB."""
    reads: bool = False
    """Whether it reads what it samples, with the tokenizer in the folder: `Sampling.stop` needs that."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """One answer that is asked for: a prompt's token ids, and the seed that decides the answer's tokens."""

    token_ids: tuple[int, ...]
    seed: int


@dataclass(frozen=True, slots=True)
class Sampling:
    """How answers are sampled. There is no top-p or top-k: they would bias the importance ratio."""

    temperature: float
    max_completion_tokens: int
    stop: tuple[str, ...] = ()
    """An answer ends with the token that completes one of these texts."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What was sampled, one entry of every field for each token, the stop token too: (N,).

    `logprobs` are at the sampling temperature, and `versions` say how many updates the weights had had.
    """

    token_ids: tuple[int, ...]
    logprobs: tuple[float, ...]
    finish_reason: FinishReason
    versions: tuple[int, ...]

    @property
    def version(self) -> int:
        """How many updates the weights had had when the last token was sampled."""
        return self.versions[-1] if self.versions else 0

    def after(self, prompt: Prompt) -> Trajectory:
        """The trajectory of this answer to `prompt`."""
        mask = (1,) * len(self.token_ids)
        return Trajectory(prompt.token_ids, (Segment(self.token_ids, mask, self.logprobs, self.versions),))


class Engine(Protocol):
    """An engine that holds one model. Leaving it as a context manager frees the model."""

    @property
    def version(self) -> int:
        """How many updates the weights in use have had."""

    @property
    def busy(self) -> bool:
        """Whether anything that was asked for is not answered yet."""

    def add(self, key: int, prompt: Prompt, sampling: Sampling) -> None:
        """Ask for an answer; `key` names it, and is not in use."""

    def advance(self) -> list[tuple[int, Answer]]:
        """Sample the next token of whatever is running; the answers that end with it, by their keys."""

    def drop(self) -> None:
        """Forget all that was asked for and is not answered."""

    def load_weights(self, weights: Iterable[tuple[str, torch.Tensor]], version: int) -> None:
        """Replace all weights, by their names in the model's folder; what was cached of the old ones is forgotten.

        Answers in the middle go on with the new ones.
        """

    def use_threads(self, count: int) -> None:
        """Go on with `count` of a processor's threads; whoever samples calls it, from the thread that samples."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *exception: object) -> None: ...


def generate(
    engine: Engine, prompts: Sequence[Prompt], sampling: Sampling
) -> Generator[tuple[int, Answer], None, None]:
    """Answer every prompt with an engine that has nothing else to do; yields (index, answer) as they end."""
    for index, prompt in enumerate(prompts):
        engine.add(index, prompt, sampling)
    try:
        while engine.busy:
            yield from engine.advance()
    finally:
        engine.drop()


def seed_for(*parts: int | str) -> int:
    """A seed of 63 bits for one sample, from what it belongs to: run seed, phase, step, task, sample."""
    digest = hashlib.blake2b("/".join(map(str, parts)).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") >> 1


def open_engine(
    name: Literal["vllm", "transformers"], settings: EngineSettings, *, separate_process: bool = False
) -> Engine:
    """The engine called `name`, with the model of `settings.folder` loaded; vLLM may be in a process of its own."""
    if separate_process:
        from agnostics.inference.remote.client import EngineProcess

        return EngineProcess(settings)
    if name == "vllm":
        from agnostics.inference.vllm import VllmEngine

        return VllmEngine(settings)
    from agnostics.inference.transformers import TransformersEngine

    return TransformersEngine(settings)
