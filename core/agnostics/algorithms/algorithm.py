"""Algorithms: how rewards become a gradient, as one combination of documented choices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

from agnostics.types.rollout import Trajectory

if TYPE_CHECKING:
    import torch

LossNormalization = Literal["token", "sequence", "constant"]
RatioLevel = Literal["token", "sequence"]


@dataclass(frozen=True, slots=True)
class Length:
    """How long an answer is: `tokens` spoken of at most `limit`, when `progress` (0 to 1) of the training is done."""

    tokens: int
    limit: int
    progress: float


Advantages = Callable[[Sequence[float], Sequence[int]], Sequence[float]]
"""(rewards, lengths) of one group's G answers, both (G,) -> advantages: (G,)."""
LengthReward = Callable[[float, Length], float]
"""(reward, length) of an answer -> its reward with the length counted."""
Rejection = Callable[[Trajectory, int], bool]
"""(trajectory, size of the vocabulary) -> whether it is left out of the loss."""
Objective = Callable[["torch.Tensor", "torch.Tensor", "torch.Tensor"], "torch.Tensor"]
"""(log-probabilities now, log ratios, advantages) of N tokens -> what is to be maximised; each (N,)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Algorithm:
    """One way to learn from groups of answers, registered through `agn_algorithms` and chosen by its name.

    The defaults are GRPO as the paper has it (section 3.3). A setting of the same name in a run's configuration goes
    over the field here. The last four fields take functions, and there an algorithm may bring equations of its own.
    Raises ValueError for a normalisation or a level that there is not.
    """

    name: str
    source: str
    """Where it is described."""

    normalize_by_std: bool = True
    """Divide advantages by the standard deviation of the group's rewards."""
    length_weighted: bool = False
    """Compare rewards with their mean over the group's tokens, in place of its answers."""
    ratio_level: RatioLevel = "token"
    """An importance ratio for each token, or for each sequence (the geometric mean over its tokens)."""
    clip_low: float = 0.2
    """How far below 1 the importance ratio may fall before it is clipped."""
    clip_high: float = 0.2
    """How far above 1 the importance ratio may rise before it is clipped."""
    loss_normalization: LossNormalization = "token"
    """What the sum over tokens is divided by; see `agnostics.algorithms.loss_weights`."""
    tis_cap: float = 0.0
    """Where above 0: the ratio is against the trainer before its first update on the batch, and each token weighs
    its ratio between trainer and engine then, up to this."""
    kl_coef: float = 0.0
    """The weight of the divergence from the model that the run began with."""
    mask_truncated: bool = False
    """Leave answers that were cut off out of the loss."""
    filter_zero_variance: bool = False
    """Drop groups without signal, so that they count in no mean."""
    dynamic_sampling_rounds: int = 0
    """How many times new prompts are sampled in place of groups without signal, which are then dropped."""
    batch_tokens: int = 0
    """The most tokens in one update; 0 puts all of a step's into one."""
    max_off_policy_steps: int = 0
    """How many updates the policy may be ahead of what it learns from: sampling then goes on during updates, and
    answers whose last token is older are skipped. 0 is strictly on-policy: sample, then update."""

    length_reward: LengthReward | None = None
    """How an answer's length changes its reward."""
    rejection: Rejection | None = None
    """Which trajectories are left out of the loss, whatever they earned."""
    advantages: Advantages | None = None
    """In place of `group_advantages`, which `normalize_by_std` and `length_weighted` are about."""
    objective: Objective | None = None
    """In place of `clipped_objective`, which `clip_low` and `clip_high` are about."""

    def __post_init__(self) -> None:
        for field, choices in (("loss_normalization", LossNormalization), ("ratio_level", RatioLevel)):
            if getattr(self, field) not in get_args(choices):
                names = ", ".join(get_args(choices))
                raise ValueError(f"algorithm {self.name!r}: {field} is one of {names}, not {getattr(self, field)!r}")
