"""The learner: trains the policy on scored rollouts, which wait in its queue until an update takes them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from agnostics.algorithms.algorithm import Algorithm
from agnostics.algorithms.scoring import full_batch, off_policy_steps
from agnostics.types.errors import UsageError
from agnostics.types.rollout import Rollout, RolloutBatch, Segment
from agnostics.types.task import Task

if TYPE_CHECKING:
    from agnostics.train.policy import Policy, UpdateStats

_MISMATCH_ROLLOUTS = 8
"""The rollouts on which the mismatch is measured if a batch leads to no update."""


@dataclass(slots=True)
class RolloutQueue:
    """Scored rollouts that wait for an update, oldest first (Code World Model, section 12).

    `dropped` counts those that grew too old in it.
    """

    rollouts: list[Rollout] = field(default_factory=list)
    dropped: int = 0

    @property
    def tokens(self) -> int:
        """Sampled tokens in the queue."""
        return sum(rollout.num_sampled for rollout in self.rollouts)

    def add(self, rollouts: Iterable[Rollout]) -> None:
        """Put the scored rollouts of a step at the end."""
        self.rollouts += rollouts

    def pop_batch(self, algorithm: Algorithm, policy_version: int) -> list[Rollout]:
        """Take the next batch, without rollouts that are too old for `policy_version`; empty if there is none.

        Sampling ahead with `batch_tokens`, a batch is as full as it can be, and the rest stays. Else it is everything.
        """
        self.rollouts = self.without_stale(self.rollouts, algorithm, policy_version)
        size = len(self.rollouts)
        if algorithm.batch_tokens and algorithm.max_off_policy_steps:
            size = full_batch([rollout.num_sampled for rollout in self.rollouts], algorithm.batch_tokens)
        batch, self.rollouts = self.rollouts[:size], self.rollouts[size:]
        return batch

    def without_stale(self, rollouts: Sequence[Rollout], algorithm: Algorithm, policy_version: int) -> list[Rollout]:
        """The rollouts that are not too old for `policy_version`; the others are counted as dropped."""
        kept = [rollout for rollout in rollouts if not algorithm.is_stale(rollout, policy_version)]
        self.dropped += len(rollouts) - len(kept)
        return kept

    def saved(self) -> list[dict[str, Any]]:
        """What an update needs of each rollout, for a checkpoint in JSON; a task by its id."""
        return [_saved(rollout) for rollout in self.rollouts]

    def restore(self, saved: Iterable[Mapping[str, Any]], tasks: Iterable[Task]) -> None:
        """Continue with what `saved` gave. Raises UsageError if a task of it is not among `tasks`."""
        by_id = {task.id: task for task in tasks}
        self.rollouts = [_restored(fields, by_id) for fields in saved]


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
        done: list[UpdateStats] = []
        ages = Counter[int]()
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


def _saved(rollout: Rollout) -> dict[str, Any]:
    segments = [
        (segment.token_ids, segment.mask, segment.logprobs, segment.policy_versions) for segment in rollout.segments
    ]
    return {
        "task": rollout.task.id,
        "sample": rollout.sample,
        "prompt_ids": rollout.prompt_ids,
        "segments": segments,
        "advantage": rollout.advantage,
        "turn_advantages": rollout.turn_advantages,
    }


def _restored(fields: Mapping[str, Any], tasks: Mapping[str, Task]) -> Rollout:
    if fields["task"] not in tasks:
        raise UsageError(f"the checkpoint holds a completion of task {fields['task']!r}, which the data set lacks")
    return Rollout(
        task=tasks[fields["task"]],
        sample=fields["sample"],
        prompt_ids=tuple(fields["prompt_ids"]),
        segments=tuple(Segment(*map(tuple, columns)) for columns in fields["segments"]),
        advantage=fields["advantage"],
        turn_advantages=fields["turn_advantages"] and tuple(fields["turn_advantages"]),
    )
