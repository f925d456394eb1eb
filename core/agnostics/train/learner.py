"""The learner: trains the policy on scored rollouts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from agnostics.algorithms.algorithm import Algorithm
from agnostics.algorithms.scoring import off_policy_steps
from agnostics.train.policy import Policy, UpdateStats
from agnostics.train.rollout_queue import RolloutQueue
from agnostics.types.rollout import Rollout, RolloutBatch

_MISMATCH_ROLLOUTS = 8
"""The rollouts on which the mismatch is measured if a batch leads to no update."""


@dataclass(frozen=True, slots=True)
class UpdateReport:
    """The updates of one step. `stale_rollouts` counts rollouts that were dropped for their age.

    `off_policy_steps` counts the tokens of all updates by the number of updates since they were sampled.
    `logprob_mismatch` is None if no rollout is of the current policy version. Of sampled tokens, `added_tokens` came
    with the step and `queued_tokens` wait for a later one.
    """

    updates: list[UpdateStats]
    stale_rollouts: int
    off_policy_steps: Counter[int]
    logprob_mismatch: float | None
    added_tokens: int = 0
    queued_tokens: int = 0


@dataclass(frozen=True, slots=True)
class Learner:
    """Updates a policy. `max_completion_tokens` is the length at which completions are truncated.

    `queue` holds what waits for an update.
    """

    policy: Policy
    max_completion_tokens: int
    queue: RolloutQueue = field(default_factory=RolloutQueue)

    def update(
        self,
        batch: RolloutBatch,
        algorithm: Algorithm,
        *,
        updates: int,
        learning_rate: float,
        before_micro_batch: Callable[[], None] = lambda: None,
    ) -> UpdateReport:
        """Train on the queue's batches, the scored rollouts at its end, `updates` times on each.

        Batches without trainable rollouts are skipped.
        """
        counted, dropped = batch.counted, self.queue.dropped
        mismatch = self._mismatch(batch) if self.queue.rollouts else None  # older rollouts come first
        self.queue.add(counted)
        done, ages = list[UpdateStats](), Counter[int]()
        for trained in self._batches(algorithm, updates):
            ages.update(age for r in trained for age in off_policy_steps(r, self.policy.version))
            done.append(self.policy.update(trained, algorithm.loss, learning_rate, before_micro_batch))
        if mismatch is None:
            mismatch = done[0].logprob_mismatch if done else self._mismatch(batch)
        added = sum(rollout.num_sampled for rollout in counted)
        return UpdateReport(done, self.queue.dropped - dropped, ages, mismatch, added, self.queue.tokens)

    def _batches(self, algorithm: Algorithm, updates: int) -> Iterator[list[Rollout]]:
        """The rollouts of each update, none of them too old when it is its turn, with their loss weights."""
        while batch := self.queue.pop_batch(algorithm, self.policy.version):
            batch = self._with_logprobs(batch, algorithm)
            for _ in range(updates):
                batch = self.queue.without_stale(batch, algorithm, self.policy.version)
                yield from algorithm.update_batches(batch, self.max_completion_tokens)

    def _with_logprobs(self, rollouts: Sequence[Rollout], algorithm: Algorithm) -> list[Rollout]:
        """The rollouts with a gradient, with the log-probabilities that the loss needs; then those without."""
        trained = [rollout for rollout in rollouts if algorithm.has_gradient(rollout)]
        others = [rollout for rollout in rollouts if not algorithm.has_gradient(rollout)]
        if algorithm.needs_old_logprobs:
            trained = self.policy.with_old_logprobs(trained)
        if algorithm.kl_coef:
            trained = self.policy.with_reference_logprobs(trained)
        return [*trained, *others]

    def _mismatch(self, batch: RolloutBatch) -> float | None:
        """The mismatch on a few rollouts of the current policy version."""
        current = [r for r in batch.rollouts if set(r.sampled_versions) == {self.policy.version}]
        return self.policy.logprob_mismatch(current[:_MISMATCH_ROLLOUTS]) if current else None
