"""The queue of scored rollouts that wait for an update, which checkpoints keep."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from agnostics.algorithms.algorithm import Algorithm
from agnostics.algorithms.scoring import full_batch
from agnostics.types.errors import UsageError
from agnostics.types.rollout import Rollout, Segment
from agnostics.types.task import Task


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
