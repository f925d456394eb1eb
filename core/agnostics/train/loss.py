"""The objective: a clipped importance ratio, and what each token weighs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    import torch

Normalisation = Literal["token", "sequence"]


@dataclass(frozen=True, slots=True)
class ClippedObjective:
    """What `clipped_objective` found, token by token; all of one shape.

    `value` is the objective and carries the gradient; `ratio` and `clipped` (bool: the clip took the gradient away)
    carry none.
    """

    value: torch.Tensor
    ratio: torch.Tensor
    clipped: torch.Tensor


def clipped_objective(
    logprobs: torch.Tensor,
    behaviour: torch.Tensor,
    advantages: torch.Tensor,
    *,
    clip_low: float,
    clip_high: float,
) -> ClippedObjective:
    """min(r A, clip(r, 1 - clip_low, 1 + clip_high) A) with r = exp(logprobs - behaviour), for each token.

    The paper, section 3.3, has one epsilon for both sides; Yu et al. 2025 (DAPO, equation 10) set them apart.
    `logprobs`, `behaviour` (those of the policy that sampled) and `advantages` have one shape, or shapes that
    broadcast. It is to be maximised.
    """
    import torch

    ratio = (logprobs - behaviour).exp()
    bounded = ratio.clamp(1 - clip_low, 1 + clip_high)
    value = torch.minimum(ratio * advantages, bounded * advantages)
    with torch.no_grad():
        clipped = (bounded * advantages) < (ratio * advantages)
    return ClippedObjective(value, ratio.detach(), clipped)


def sequence_weights(lengths: Sequence[int], normalisation: Normalisation) -> list[float]:
    """What each token of a sequence weighs, for S sequences in which the policy spoke `lengths` tokens: (S,).

    `token`: 1 / (all tokens of the batch), the mean over tokens. `sequence`: 1 / (S |y_i|), the mean over sequences of
    their means, as in the paper, section 3.3. In both, the weights of all tokens add up to one.
    """
    if normalisation == "token":
        total = max(sum(lengths), 1)
        return [1.0 / total] * len(lengths)
    return [1.0 / (len(lengths) * max(length, 1)) for length in lengths]
