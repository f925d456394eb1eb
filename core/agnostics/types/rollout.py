"""Trajectories: what flows from rollout to loss, as tokens and never as text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self


@dataclass(frozen=True, slots=True)
class Segment:
    """A stretch of token ids, one entry of every field for each token: (N,).

    `mask` is 1 where the policy spoke and 0 where something else did (a tool, a user). `logprobs` are those of the
    sampled tokens under the policy that sampled them, at the sampling temperature, and 0 where the mask is 0.
    `versions` says how many updates that policy had.
    """

    token_ids: tuple[int, ...]
    mask: tuple[int, ...]
    logprobs: tuple[float, ...]
    versions: tuple[int, ...]

    def __post_init__(self) -> None:
        if len({len(self.token_ids), len(self.mask), len(self.logprobs), len(self.versions)}) > 1:
            raise ValueError("token_ids, mask, logprobs and versions of a segment must be equally long")

    @classmethod
    def spoken(cls, token_ids: Sequence[int], logprobs: Sequence[float], version: int) -> Self:
        """A segment that one version of the policy sampled."""
        size = len(token_ids)
        return cls(tuple(token_ids), (1,) * size, tuple(logprobs), (version,) * size)


@dataclass(frozen=True, slots=True)
class Trajectory:
    """A prompt and the segments that followed it. A single answer is the case of one segment."""

    prompt: tuple[int, ...]
    segments: tuple[Segment, ...]

    @property
    def token_ids(self) -> tuple[int, ...]:
        """The tokens after the prompt: (N,)."""
        return tuple(token for segment in self.segments for token in segment.token_ids)

    @property
    def mask(self) -> tuple[int, ...]:
        """1 where the policy spoke: (N,)."""
        return tuple(bit for segment in self.segments for bit in segment.mask)

    @property
    def logprobs(self) -> tuple[float, ...]:
        """Log-probabilities at the time of sampling: (N,)."""
        return tuple(value for segment in self.segments for value in segment.logprobs)

    @property
    def versions(self) -> tuple[int, ...]:
        """Policy versions: (N,)."""
        return tuple(version for segment in self.segments for version in segment.versions)

    @property
    def spoken_versions(self) -> tuple[int, ...]:
        """The versions of the policy that sampled the N tokens that it spoke: (N,)."""
        return tuple(version for version, bit in zip(self.versions, self.mask, strict=True) if bit)

    @property
    def spoken(self) -> int:
        """How many tokens the policy spoke."""
        return sum(self.mask)
