"""The algorithm: from verified rollouts to a loss, as one object made of documented choices."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, get_args

from agnostics.algorithms.loss_settings import Clipping, LossSettings, RatioLevel
from agnostics.algorithms.scoring import (
    BatchTotals,
    CompletionLength,
    LossNormalization,
    batches_by_tokens,
    group_advantages,
    is_stale,
    is_zero_variance,
    token_statistics,
    token_weights,
    turn_returns,
)
from agnostics.types.errors import AgnosticsError
from agnostics.types.reward import RewardPolicy
from agnostics.types.rollout import Rollout, RolloutBatch, RolloutGroup

if TYPE_CHECKING:
    import torch

    from agnostics.algorithms.loss import Loss, MicroBatch

AdvantageFunction = Callable[[Sequence[float], Sequence[int]], Sequence[float]]
"""(rewards, lengths) of one group's G rollouts, both (G,) -> advantages: (G,)."""
LengthPenalty = Callable[[float, CompletionLength], float]
"""(reward, length) of a rollout -> its reward with the length penalty."""
RolloutFilter = Callable[[Rollout, int], bool]
"""(rollout, vocabulary size) -> whether it is left out of the loss."""


@dataclass(frozen=True, slots=True)
class ScoringContext:
    """Values of a run of `steps` steps that scoring depends on.

    `progress` is the part of the training that is done, from 0 to 1.
    """

    reward_policy: RewardPolicy
    max_completion_tokens: int
    vocab_size: int
    steps: int = 1
    progress: float = 0.0

    def at(self, step: int) -> ScoringContext:
        """The values in `step`, counted from 1."""
        return replace(self, progress=(step - 1) / self.steps)


@dataclass(frozen=True, slots=True, kw_only=True)
class Algorithm(LossSettings):
    """A reinforcement learning algorithm, registered through `agn_algorithms` and chosen by its name.

    The defaults are GRPO as in the paper (section 3.3). A setting of the same name in a run's configuration overrides a
    field. `objective` and the last three fields take functions, with which an algorithm brings equations of its own.
    Raises ValueError for an unknown normalization, ratio level or clipping, and for settings that exclude each other.
    """

    name: str
    source: str
    """The publication that describes it."""

    normalize_by_std: bool = True
    """Divide advantages by the standard deviation of the group's rewards."""
    length_weighted: bool = False
    """Compare rewards with their mean over the group's tokens instead of its rollouts."""
    normalize_over_batch: bool = False
    """Then normalise advantages by their mean and standard deviation over all tokens of a step's rollouts."""
    loss_normalization: LossNormalization = "token"
    """The divisor of the sum over tokens; see `agnostics.algorithms.scoring`."""
    mask_truncated: bool = False
    """Leave truncated completions out of the loss."""
    filter_zero_variance: bool = False
    """Drop groups whose task rewards are all equal, so that they count in no mean (DAPO, equation 11)."""
    filter_zero_advantage: bool = False
    """Leave out rollouts whose advantage is zero, so that they fill no batch (Code World Model, section 5.2)."""
    dynamic_sampling_rounds: int = 0
    """Maximum number of times that new prompts are sampled to replace groups with equal rewards, which are dropped."""
    batch_tokens: int = 0
    """The most tokens in one update; 0 puts all of a step's tokens into one. Above 0, with `max_off_policy_steps`, what
    fills no batch at the end of a step waits for the next one."""
    max_off_policy_steps: int = 0
    """Maximum number of updates between sampling a token and training on it: with 1 or more, sampling continues during
    updates, and rollouts with an older token are dropped. 0 is strictly on-policy: sample, then make all updates of the
    step."""

    turn_rewards: bool = False
    """Give the tokens of each turn an advantage of their own, from the environment's rewards for it and the turns after
    it, beside the episode's; turns are compared with all turns of the group."""
    turn_discount: float = 1.0
    """With `turn_rewards`, the factor of what follows a turn in its return."""

    length_penalty: LengthPenalty | None = None
    """Changes a rollout's reward by its length."""
    rollout_filter: RolloutFilter | None = None
    """Leaves rollouts out of the loss, whatever their reward."""
    advantage_function: AdvantageFunction | None = None
    """Replaces `group_advantages`, which `normalize_by_std` and `length_weighted` configure."""

    def __post_init__(self) -> None:
        named = {"loss_normalization": LossNormalization, "ratio_level": RatioLevel, "clipping": Clipping}
        for field, choices in named.items():
            if getattr(self, field) not in get_args(choices):
                names = ", ".join(get_args(choices))
                raise ValueError(f"algorithm {self.name!r}: {field} is one of {names}, not {getattr(self, field)!r}")
        if self.tis_cap and self.mis_high:
            raise ValueError(f"algorithm {self.name!r}: tis_cap truncates what mis_high masks; set one of them to 0")
        if self.turn_rewards and self.normalize_over_batch:
            raise ValueError(f"algorithm {self.name!r}: turn_rewards and normalize_over_batch exclude each other")
        if not 0 < self.turn_discount <= 1:
            raise ValueError(f"algorithm {self.name!r}: turn_discount is above 0 and at most 1")
        if self.mis_low and not self.mis_low < self.mis_high:
            raise ValueError(f"algorithm {self.name!r}: mis_low = {self.mis_low:g} needs a higher mis_high")

    def score(self, batch: RolloutBatch, context: ScoringContext) -> RolloutBatch:
        """The verified rollouts of a step with task rewards, rewards and advantages.

        Groups of dynamic sampling are scored already, to replace some. Those that count in the loss have an advantage:
        over them it is then normalised with `normalize_over_batch`. Raises AgnosticsError as `score_group` does.
        """
        groups = batch.groups
        if not self.dynamic_sampling_rounds:
            groups = [self.score_group(group, context) for group in groups]
        groups = [self._without_uncounted(group) for group in groups]
        return replace(batch, groups=_standardized(groups) if self.normalize_over_batch else groups)

    def score_group(self, group: RolloutGroup, context: ScoringContext) -> list[Rollout]:
        """The rollouts of one group with task reward, reward and advantage.

        All three are None for a rollout that the reward policy leaves out of the loss; the advantage alone for one that
        the algorithm leaves out. Raises AgnosticsError if the reward policy gives another number of rewards.
        """
        policy = context.reward_policy
        task_rewards = list(policy.rewards(group))
        if len(task_rewards) != len(group):
            raise AgnosticsError(
                f"reward policy {policy.name!r} gave {len(task_rewards)} rewards for {len(group)} rollouts"
            )
        rewards = [
            None if reward is None else self._with_length_penalty(reward, rollout, context)
            for reward, rollout in zip(task_rewards, group, strict=True)
        ]
        advantages = self._advantages(group, rewards, context)
        scored = [
            replace(rollout, task_reward=task_reward, reward=reward, advantage=advantage)
            for rollout, task_reward, reward, advantage in zip(group, task_rewards, rewards, advantages, strict=True)
        ]
        return self._with_turn_advantages(scored) if self.turn_rewards else scored

    def has_signal(self, group: RolloutGroup) -> bool:
        """Whether a scored group is worth training on: dynamic sampling replaces the others.

        Its task rewards differ (Yu et al. 2025, "DAPO", equation 11: some answers are right, some wrong). With
        `filter_zero_advantage` an advantage is not zero, which a length penalty alone can cause (Code World Model,
        section 5.2, "Skip zero-advantage trajectories").
        """
        if self.filter_zero_advantage:
            return any(rollout.advantage or any(rollout.turn_advantages or ()) for rollout in group)
        return not is_zero_variance(group)

    def is_stale(self, rollout: Rollout, policy_version: int) -> bool:
        """Whether the rollout is too old to train the policy that has had `policy_version` updates.

        Without sampling ahead none is: a step samples from one policy and makes all its updates with that.
        """
        return self.max_off_policy_steps > 0 and is_stale(rollout, policy_version, self.max_off_policy_steps)

    def has_gradient(self, rollout: Rollout) -> bool:
        """Whether the rollout changes the gradient, besides counting in its means."""
        return _has_advantage(rollout) or self.kl_coef > 0 or self.entropy_coef > 0

    def update_batches(self, rollouts: Sequence[Rollout], max_completion_tokens: int) -> Iterator[list[Rollout]]:
        """The rollouts of each update that have a gradient, with their loss weights.

        The weights are normalised over the whole update. One without any gradient is left out.
        """
        lengths = [rollout.num_sampled for rollout in rollouts]
        limit = self.batch_tokens or sum(lengths) + 1
        for places in batches_by_tokens(lengths, limit):
            weighted = self._with_loss_weights(rollouts[places.start : places.stop], max_completion_tokens)
            if trained := [rollout for rollout in weighted if self.has_gradient(rollout)]:
                yield trained

    def loss(self, logprobs: torch.Tensor, batch: MicroBatch, entropies: torch.Tensor | None = None) -> Loss:
        """The loss of a micro batch whose N sampled tokens have these `logprobs` under the policy, (N,).

        See `agnostics.algorithms.loss.micro_batch_loss`.
        """
        from agnostics.algorithms.loss import micro_batch_loss

        return micro_batch_loss(self, logprobs, batch, entropies)

    def _without_uncounted(self, group: RolloutGroup) -> list[Rollout]:
        """A scored group without the advantages of rollouts that the algorithm's filters leave out of the loss.

        An advantage of zero that is left counts in means and has no gradient.
        """
        if (self.filter_zero_variance or self.dynamic_sampling_rounds > 0) and not self.has_signal(group):
            return [replace(rollout, advantage=None) for rollout in group]
        if self.filter_zero_advantage:
            return [r if r.advantage is None or _has_advantage(r) else replace(r, advantage=None) for r in group]
        return list(group)

    def _with_length_penalty(self, reward: float, rollout: Rollout, context: ScoringContext) -> float:
        if self.length_penalty is None:
            return reward
        length = CompletionLength(rollout.num_sampled, context.max_completion_tokens, context.progress)
        return self.length_penalty(reward, length)

    def _advantages(
        self, group: RolloutGroup, rewards: Sequence[float | None], context: ScoringContext
    ) -> list[float | None]:
        """The advantages; a rollout that is left out of the loss counts in the group's mean if it has a reward."""
        rewarded = [(place, reward) for place, reward in enumerate(rewards) if reward is not None]
        lengths = [group[place].num_sampled for place, _ in rewarded]
        values = self._group_advantages([reward for _, reward in rewarded], lengths) if rewarded else []
        by_place = dict(zip((place for place, _ in rewarded), values, strict=True))
        return [None if self._is_masked(r, context) else by_place.get(place) for place, r in enumerate(group)]

    def _group_advantages(self, rewards: Sequence[float], lengths: Sequence[int]) -> Sequence[float]:
        if self.advantage_function is not None:
            return self.advantage_function(rewards, lengths)
        weights = lengths if self.length_weighted else None
        return group_advantages(rewards, normalize_by_std=self.normalize_by_std, weights=weights)

    def _with_turn_advantages(self, group: RolloutGroup) -> list[Rollout]:
        """A scored group whose rollouts that count have an advantage for each turn."""
        counted = [r for r in group if r.advantage is not None and r.reward is not None and r.turns]
        rewards = [([turn.reward for turn in r.turns], r.reward or 0.0) for r in counted]
        returns = [turn_returns(of_turns, reward, self.turn_discount) for of_turns, reward in rewards]
        lengths = [turn.num_tokens for r in counted for turn in r.turns]
        values = iter(self._group_advantages([value for row in returns for value in row], lengths) if returns else ())
        by_sample = {r.sample: tuple(next(values) for _ in r.turns) for r in counted}
        return [
            replace(r, advantage=by_sample[r.sample][0], turn_advantages=by_sample[r.sample])
            if r.sample in by_sample
            else r
            for r in group
        ]

    def _is_masked(self, rollout: Rollout, context: ScoringContext) -> bool:
        if self.mask_truncated and rollout.finish_reason == "length":
            return True
        return self.rollout_filter is not None and self.rollout_filter(rollout, context.vocab_size)

    def _with_loss_weights(self, rollouts: Sequence[Rollout], max_completion_tokens: int) -> list[Rollout]:
        lengths = [rollout.num_sampled for rollout in rollouts]
        capacity = self.batch_tokens or len(lengths) * max_completion_tokens
        weights = token_weights(lengths, self.loss_normalization, BatchTotals(len(lengths), sum(lengths), capacity))
        return [replace(rollout, loss_weight=weight) for rollout, weight in zip(rollouts, weights, strict=True)]


def _has_advantage(rollout: Rollout) -> bool:
    """Whether a token of the rollout has an advantage other than zero."""
    return rollout.advantage != 0 or any(rollout.turn_advantages or ())


def _standardized(groups: Sequence[RolloutGroup]) -> list[list[Rollout]]:
    """Scored groups with advantages normalised over the tokens of the rollouts that count in the loss."""
    counted = [(r.advantage, r.num_sampled) for group in groups for r in group if r.advantage is not None]
    mean, std = token_statistics([advantage for advantage, _ in counted], [tokens for _, tokens in counted])

    def standardized(rollout: Rollout) -> Rollout:
        if rollout.advantage is None:
            return rollout
        return replace(rollout, advantage=(rollout.advantage - mean) / std if std else 0.0)

    return [[standardized(rollout) for rollout in group] for group in groups]
