"""The learner: the age of each rollout at each update, the order of updates, and the queue through a checkpoint."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from agnostics.algorithms.algorithm import Algorithm
from agnostics.algorithms.grpo import GRPO
from agnostics.train import checkpoint
from agnostics.train.config import TrainConfig
from agnostics.train.learner import Learner, UpdateReport
from agnostics.train.policy import Policy
from agnostics.train.state import TrainerState
from agnostics.types.rollout import Rollout, RolloutBatch, Segment
from agnostics.types.task import Task, Test
from checkpoints import write_checkpoint

pytestmark = pytest.mark.slow

RATE, LONGEST = 1e-3, 8
TASK = Task(id="t", tests=(Test(input="", output=""),))
QUEUED = replace(GRPO, batch_tokens=16, max_off_policy_steps=2)


def _batch(count: int, version: int = 0, seed: int = 3) -> RolloutBatch:
    """A group of `count` scored rollouts of 8 tokens each."""
    generator = torch.Generator().manual_seed(seed)

    def rollout(sample: int) -> Rollout:
        tokens = torch.randint(3, 700, (LONGEST,), generator=generator).tolist()
        return Rollout(
            task=TASK,
            sample=sample,
            prompt_ids=(5, 6, 7),
            segments=(Segment.sampled(tokens, [-6.5] * LONGEST, [version] * LONGEST),),
            advantage=1.0 - sample % 3,
        )

    return RolloutBatch([[rollout(sample) for sample in range(count)]])


@contextmanager
def _learner(folder: Path) -> Iterator[Learner]:
    with Policy(folder, TrainConfig(learning_rate=RATE), 0.7) as policy:
        yield Learner(policy, LONGEST)


def _update(learner: Learner, batch: RolloutBatch, algorithm: Algorithm, updates: int = 1) -> UpdateReport:
    return learner.update(batch, algorithm, updates=updates, learning_rate=RATE)


def _weights(learner: Learner) -> torch.Tensor:
    return torch.cat([weight.flatten().clone() for _, weight in learner.policy.weights()])


def test_a_rollout_that_grows_too_old_within_a_step_is_not_trained_on(tiny_model: Callable[..., Path]) -> None:
    with _learner(tiny_model(tied=True)) as learner:
        report = _update(learner, _batch(9), QUEUED)  # batches of two: nothing is left for the fourth but old ones
        assert (len(report.updates), report.stale_rollouts, max(report.off_policy_steps)) == (3, 3, 2)
        repeated = _update(learner, _batch(2, version=3), QUEUED, updates=5)
        assert (len(repeated.updates), repeated.stale_rollouts, max(repeated.off_policy_steps)) == (3, 2, 2)
        assert learner.policy.version == 6


def test_without_sampling_ahead_all_updates_of_a_step_are_made_in_rounds_over_its_batches(
    tiny_model: Callable[..., Path],
) -> None:
    folder, algorithm, batch = tiny_model(tied=True), replace(GRPO, batch_tokens=20), _batch(5)
    with _learner(folder) as learner:
        report = _update(learner, batch, algorithm, updates=2)
        assert (len(report.updates), report.stale_rollouts, report.queued_tokens) == (4, 0, 0)
        weights = _weights(learner)
    with Policy(folder, TrainConfig(learning_rate=RATE), 0.7) as policy:
        (group,) = batch.groups
        ordered = sorted(group, key=lambda rollout: rollout.advantage == 0)
        for _ in range(2):
            for rollouts in algorithm.update_batches(ordered, LONGEST):
                policy.update(rollouts, algorithm.loss, RATE)
        assert torch.equal(weights, torch.cat([weight.flatten() for _, weight in policy.weights()]))


def test_the_mismatch_is_measured_on_new_rollouts_even_if_older_ones_are_trained_on_first(
    tiny_model: Callable[..., Path],
) -> None:
    with _learner(tiny_model(tied=True)) as learner:
        _update(learner, _batch(3), QUEUED)
        waits = learner.queue.rollouts
        assert [rollout.policy_version for rollout in waits] == [0]
        new = _batch(1, version=1)
        expected = learner.policy.logprob_mismatch(new.rollouts)
        assert _update(learner, new, QUEUED).logprob_mismatch == pytest.approx(expected)


def test_what_waits_for_a_batch_is_trained_on_after_a_resume_as_without(
    tiny_model: Callable[..., Path], tmp_path: Path
) -> None:
    folder, later = tiny_model(tied=True), _batch(6, version=1, seed=4)
    with _learner(folder) as learner:
        assert _update(learner, _batch(3), QUEUED).queued_tokens == LONGEST
        state = TrainerState(step=1, queue=learner.queue.saved())
        saved = write_checkpoint(tmp_path, learner.policy, state, folder)
        expected = _update(learner, later, QUEUED)
        weights = _weights(learner)
    with _learner(saved) as learner:
        learner.queue.restore(checkpoint.restore(saved, learner.policy).queue, [TASK])
        assert _update(learner, later, QUEUED) == expected
        assert torch.equal(_weights(learner), weights)
