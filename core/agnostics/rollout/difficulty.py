"""Online difficulty filtering: prompts whose groups rarely carry a signal are sampled less often."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Self

from agnostics.rollout.prompts import RenderedPrompt
from agnostics.rollout.schedule import TaskSampler
from agnostics.types.rollout import RolloutGroup
from agnostics.types.task import Task
from agnostics.types.verification import Verdict

LOWEST_PROBABILITY = 0.05
"""The probability with which the turn of a prompt is taken, if all of its programs are accepted, or none."""
_KEPT = 0.8
"""The weight of the counts so far when a group is added to them: they are those of older policies."""
_PRIOR = 2.0
"""The number of programs that the pass rate of the task's family counts as in the estimate for the task."""


@dataclass(frozen=True, slots=True)
class PassCounts:
    """Accepted and verified programs, the older ones discounted."""

    accepted: float = 0.0
    verified: float = 0.0

    def plus(self, group: RolloutGroup) -> Self:
        """With the programs of `group` added. A failed sandbox says nothing about a program."""
        verdicts = [rollout.verified.verdict for rollout in group]
        verified = len(verdicts) - verdicts.count(Verdict.SANDBOX_ERROR)
        if not verified:
            return self
        accepted = verdicts.count(Verdict.ACCEPTED)
        return type(self)(_KEPT * self.accepted + accepted, _KEPT * self.verified + verified)

    def pass_rate(self, expected: float) -> float:
        """The mean of a beta distribution that is updated with the counts; `expected` is its mean without any."""
        return (_PRIOR * expected + self.accepted) / (_PRIOR + self.verified)


@dataclass(slots=True)
class SamplerState:
    """The state that the next prompts depend on."""

    position: int = 0
    """Turns of the shuffled order that were taken or left."""
    chosen: dict[int, list[int]] = field(default_factory=dict)
    """The indices of the prompts of each step that is not finished; those of steps ahead are chosen early."""
    tasks: dict[str, PassCounts] = field(default_factory=dict)
    families: dict[str, PassCounts] = field(default_factory=dict)


@dataclass(frozen=True)
class DifficultySampler(TaskSampler):
    """Prompts in the shuffled order, each taking its turn with the probability max(0.05, 4 p (1 - p)).

    p is an estimate of the pass rate of the task's programs. A group's advantages are zero at p = 0 and p = 1, and p
    (1 - p), the variance of its rewards, bounds from below what the policy gains (Bae et al. 2025, "Online Difficulty
    Filtering for Reasoning Oriented Reinforcement Learning", arXiv:2504.03380). Prompts are skipped at random before
    they are sampled, and none for ever, as in Zheng et al. 2025 (GRESO, arXiv:2506.02177).

    The estimate begins at 1/2, so that the first prompts are those of `TaskSampler`. It follows the rollouts of the
    task and, as long as there are few, those of its family. The prompts are a function of the seed and of `state`.
    """

    _state: SamplerState = field(default_factory=SamplerState, compare=False)

    def at(self, step: int) -> list[RenderedPrompt]:
        """The prompts of `step`, chosen by the estimates at the first call for this step."""
        if step not in self._state.chosen:
            self._state.chosen[step] = list(islice(self._choices(), self.prompts_per_step))
        return [self.prompts[index] for index in self._state.chosen[step]]

    def replacements(self, step: int) -> Iterator[RenderedPrompt]:
        """See `TaskSampler.replacements`; those that would be skipped come last."""
        draws = random.Random(f"{self.seed}/difficulty/spares/{step}")
        prompts = list(super().replacements(step))
        return iter(sorted(prompts, key=lambda prompt: draws.random() >= self.probability(prompt.task)))

    def observe(self, groups: Sequence[RolloutGroup]) -> None:
        """Update the estimates with verified rollouts, a group for each prompt."""
        state = self._state
        for group in groups:
            task = group[0].task
            state.tasks[task.id] = state.tasks.get(task.id, PassCounts()).plus(group)
            if task.family:
                state.families[task.family] = state.families.get(task.family, PassCounts()).plus(group)

    def pass_rate(self, task: Task) -> float:
        """The estimate of the pass rate of the task's programs."""
        family = self._state.families.get(task.family or "", PassCounts()).pass_rate(0.5)
        return self._state.tasks.get(task.id, PassCounts()).pass_rate(family)

    def probability(self, task: Task) -> float:
        """The probability with which the task takes its turn."""
        rate = self.pass_rate(task)
        return max(LOWEST_PROBABILITY, 4 * rate * (1 - rate))

    def state(self, step: int) -> Mapping[str, Any]:
        """See `TaskSampler.state`: all that JSON can hold."""
        return {
            "position": self._state.position,
            "chosen": {str(ahead): indices for ahead, indices in self._state.chosen.items() if ahead > step},
            "tasks": _as_lists(self._state.tasks),
            "families": _as_lists(self._state.families),
        }

    def restore(self, state: Mapping[str, Any] | None, step: int) -> None:
        """See `TaskSampler.restore`; a run that had no filter until `step` continues in its order."""
        if state is None:
            self._state.position = step * self.prompts_per_step
            return
        self._state.position = state["position"]
        self._state.chosen = {int(ahead): indices for ahead, indices in state["chosen"].items()}
        self._state.tasks = {name: PassCounts(*counts) for name, counts in state["tasks"].items()}
        self._state.families = {name: PassCounts(*counts) for name, counts in state["families"].items()}

    def _choices(self) -> Iterator[int]:
        """The indices of the next prompts that take their turn, none twice as long as there are others."""
        taken = set[int]()
        for position, index in self._turns():
            draw = random.Random(f"{self.seed}/difficulty/{position}").random()
            if index not in taken and draw < self.probability(self.prompts[index].task):
                taken.add(index)
                yield index
            if len(taken) == len(self.prompts):
                taken.clear()

    def _turns(self) -> Iterator[tuple[int, int]]:
        """Positions in the shuffled order, from where it was left, and the prompts whose turn it is."""
        while True:
            epoch, first = divmod(self._state.position, len(self.prompts))
            for index in self._order(epoch)[first:]:
                self._state.position += 1
                yield self._state.position - 1, index


def _as_lists(counts: Mapping[str, PassCounts]) -> dict[str, list[float]]:
    return {name: [count.accepted, count.verified] for name, count in counts.items()}
