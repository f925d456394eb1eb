"""The inference engine: samples completions token by token, gives their log-probabilities, takes new weights."""

from __future__ import annotations

import hashlib
from collections.abc import Generator, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol, Self, runtime_checkable

from agnostics.types.rollout import FinishReason, Segment

if TYPE_CHECKING:
    import torch


BUFFER_RANKS = (1, 8, 16, 32, 64, 128, 256, 320, 512)
"""The ranks for which vLLM reserves memory (its `MaxLoRARanks`); an adapter of another rank takes the next one."""


@dataclass(frozen=True, slots=True)
class AdapterSettings:
    """A low-rank adapter that an engine serves beside the weights of its model's folder."""

    rank: int
    alpha: int
    """The factor of its output, times the rank."""
    modules: tuple[str, ...]
    """The layers that have a part of it, by the last component of their names."""

    @property
    def buffer_rank(self) -> int:
        """The rank for which vLLM reserves memory."""
        return next(rank for rank in BUFFER_RANKS if rank >= self.rank)


@dataclass(frozen=True, slots=True)
class EngineSettings:
    """The settings of an engine that loads one model. `stop_ids` end a completion and belong to it."""

    folder: Path
    stop_ids: tuple[int, ...]
    max_length: int
    """Tokens of a prompt and its completion together."""
    max_num_seqs: int
    """Completions sampled at the same time."""
    dtype: Literal["float32", "bfloat16"] = "float32"
    kv_cache_gib: int = 1
    """Memory for vLLM's keys and values, or for those that transformers keeps between turns, in GiB."""
    tensor_parallel_size: int = 1
    """Devices among which vLLM divides the model: GPUs, or processes on a CPU."""
    cuda_graphs: bool = True
    """On a GPU, replay vLLM's decoding steps as CUDA graphs."""
    chunked_prefill: bool = True
    """On a GPU, let vLLM prefill long prompts in chunks, beside the decoding of other sequences."""
    sleep_mode: bool = False
    """On a GPU, have vLLM allocate weights and KV cache so that `SupportsSleep` can free them."""
    detokenize: bool = False
    """Decode what is sampled, with the tokenizer in the folder: needed for `SamplingParams.stop`."""
    adapter: AdapterSettings | None = None
    """The adapter that vLLM serves: `Engine.load_weights` gets its weights, the first ones before the first request."""


@dataclass(frozen=True, slots=True)
class CompletionRequest:
    """A request for one completion: the prompt's token ids, and the seed that decides the completion's tokens."""

    prompt_ids: tuple[int, ...]
    seed: int
    may_be_continued: bool = False
    """Whether a later prompt may begin with prompt and completion, so that their keys and values are worth keeping."""
    conversation: int | None = None
    """The number that all requests of a conversation have, whose prompts begin with the earlier ones' sequences."""


@dataclass(frozen=True, slots=True)
class SamplingParams:
    """Sampling parameters. There is no top-p or top-k: they would bias the importance ratio."""

    temperature: float
    max_completion_tokens: int
    stop: tuple[str, ...] = ()
    """A completion ends with the token that completes one of these texts."""


@dataclass(frozen=True, slots=True)
class Completion:
    """The tokens that an engine sampled, one entry of every field for each, the stop token included: (N,).

    `logprobs` are at the sampling temperature; `policy_versions` are the numbers of updates of the weights in use.
    """

    token_ids: tuple[int, ...]
    logprobs: tuple[float, ...]
    finish_reason: FinishReason
    policy_versions: tuple[int, ...]
    num_cached_tokens: int = 0
    """Tokens of the prompt that were not computed, because the engine had their keys and values."""

    @property
    def segment(self) -> Segment:
        """The completion as a segment of a rollout."""
        return Segment.sampled(self.token_ids, self.logprobs, self.policy_versions)


class Engine(Protocol):
    """An engine that holds one model. Leaving it as a context manager frees the model."""

    @property
    def version(self) -> int:
        """The number of updates of the weights in use."""

    @property
    def has_unfinished_requests(self) -> bool:
        """Whether a request is not finished yet."""

    def add_request(self, request_id: int, request: CompletionRequest, params: SamplingParams) -> None:
        """Queue a request; `request_id` is not in use."""

    def step(self) -> list[tuple[int, Completion]]:
        """Sample the next token of every running sequence; the completions that finish with it, by request id."""

    def abort_all(self) -> None:
        """Drop every unfinished request."""

    def load_weights(self, weights: Iterable[tuple[str, torch.Tensor]], version: int) -> None:
        """Replace all weights, by their names in transformers' model; KV and prefix caches are invalidated.

        Running sequences continue with the new weights. An engine that serves an adapter gets the adapter's weights
        alone, by their names in peft's format.
        """

    def set_num_threads(self, count: int) -> None:
        """Compute on `count` CPU threads from now on; called on the thread that samples."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *exception: object) -> None: ...


@runtime_checkable
class SupportsSleep(Protocol):
    """An engine that leaves its device's memory to others for some time. Only an engine without requests sleeps."""

    def sleep(self) -> None:
        """Free the memory of weights, keys and values. Until `wake_up`, only `Engine.load_weights` may follow."""

    def wake_up(self) -> None:
        """Take the memory again. The weights are those of before, or those that were loaded meanwhile."""


def generate(
    engine: Engine, requests: Sequence[CompletionRequest], params: SamplingParams
) -> Generator[tuple[int, Completion], None, None]:
    """Complete every request with an idle engine; yields (index, completion) as they finish."""
    for index, request in enumerate(requests):
        engine.add_request(index, request, params)
    try:
        while engine.has_unfinished_requests:
            yield from engine.step()
    finally:
        engine.abort_all()


def seed_for(*parts: int | str) -> int:
    """A seed of 63 bits derived from what it is for: of a completion, run seed, phase, step, task and sample."""
    digest = hashlib.blake2b("/".join(map(str, parts)).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") >> 1
