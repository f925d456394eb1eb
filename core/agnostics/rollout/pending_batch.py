"""A batch of rollouts in the making: its groups are played, verified and, with dynamic sampling, replaced."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from threading import Lock

from agnostics.inference.engine import SamplingParams, seed_for
from agnostics.rollout.episode_loop import EpisodeLoop
from agnostics.rollout.prompts import RenderedPrompt
from agnostics.rollout.sources import SampleRequest
from agnostics.types.rollout import Rollout, RolloutBatch, RolloutGroup
from agnostics.types.task import Task, Test
from agnostics.util.distributed import ProcessGroup
from agnostics.util.signals import InterruptHandler


@dataclass(frozen=True, slots=True)
class BatchRequest:
    """What a batch is made of: `group_size` episodes of each prompt. `seed` decides their tokens.

    Without `stop_on_failure` every test of a program is run, also after a failed one.
    """

    prompts: Sequence[RenderedPrompt]
    group_size: int
    params: SamplingParams
    seed: str
    stop_on_failure: bool = True
    step: int = 0
    """The training step; 0 for an evaluation."""


@dataclass(frozen=True, slots=True)
class DynamicSampling:
    """Replaces each group without signal by one of another prompt, as soon as it is verified.

    `replacements` holds, for each prompt of the batch, those that may take its place, in turn. `score` gives a verified
    group its rewards and advantages, once, on a thread of the batch; `has_signal` says whether a scored group will do.
    """

    replacements: Sequence[Sequence[RenderedPrompt]]
    score: Callable[[RolloutGroup], list[Rollout]]
    has_signal: Callable[[RolloutGroup], bool]


@dataclass(slots=True)
class _Group:
    """This rank's samples of one prompt, the `round`-th in its place in the batch."""

    prompt: RenderedPrompt
    place: int
    round: int
    samples: list[int]
    verified: dict[int, Rollout] = field(default_factory=dict)
    done: Future[list[Rollout]] = field(default_factory=Future)
    replacement: _Group | None = None
    """Known when `done` is."""

    def fail(self, error: Exception) -> None:
        """Have the wait for this group raise `error`."""
        if not self.done.done():
            self.done.set_exception(error)


_NO_TASK = Task(id="", tests=(Test(input="", output=""),))
_Key = tuple[int, int, int]
"""Round, place and sample of a rollout."""


class PendingBatch:
    """A batch whose episodes are being played. Each rank has its shard: of the prompts with dynamic sampling, which
    scores whole groups, and else of the completions."""

    def __init__(
        self,
        episodes: EpisodeLoop,
        process_group: ProcessGroup,
        interrupts: InterruptHandler,
        request: BatchRequest,
        dynamic: DynamicSampling | None = None,
    ) -> None:
        self._episodes = episodes
        self._process_group, self._interrupts = process_group, interrupts
        self._request, self._dynamic = request, dynamic
        self._lock = Lock()
        self._scorer = ThreadPoolExecutor(1, thread_name_prefix="agnostics-scoring") if dynamic else None
        self._submitted_s = self._sampled_s = time.monotonic()
        self._groups = [
            _Group(prompt, place, 0, samples)
            for place, prompt in enumerate(request.prompts)
            if (samples := self._samples_of(place))
        ]
        # Prompts of similar length stand together, so that an engine which pads them pads little.
        self._submit(sorted(self._groups, key=lambda group: len(group.prompt.token_ids)))

    def result(self) -> RolloutBatch:
        """Wait until every episode is played and verified, on all ranks.

        Groups that were replaced are kept, and with dynamic sampling all are scored. First the groups of the prompts
        that were asked for, in their order, then their replacements.
        """
        shards = self._process_group.all_gather(self._process_group.run_on_all(self._shard))
        rollouts = {key: rollout for shard in shards for key, rollout in shard.items()}
        groups = dict[tuple[int, int], list[Rollout]]()
        for key in sorted(rollouts):
            groups.setdefault(key[:2], []).append(self._restored(key, rollouts[key]))
        return RolloutBatch(
            list(groups.values()), self._sampled_s - self._submitted_s, time.monotonic() - self._sampled_s
        )

    def _samples_of(self, place: int) -> list[int]:
        """The samples of the prompt at `place` that this rank has."""
        size, ranks = self._request.group_size, self._process_group.world_size
        rank_of = (lambda _: place % ranks) if self._dynamic else (lambda sample: (place * size + sample) % ranks)
        return [sample for sample in range(size) if rank_of(sample) == self._process_group.rank]

    def _submit(self, groups: Sequence[_Group]) -> None:
        """Have the episodes of `groups` played, all together."""
        owners = [(group, sample) for group in groups for sample in group.samples]
        seed = self._request.seed
        requests = [
            SampleRequest(group.prompt, sample, seed_for(seed, group.prompt.task.id, sample), self._request.step)
            for group, sample in owners
        ]
        rollouts = self._episodes.submit(
            requests, self._request.params, self._on_sampled, stop_on_failure=self._request.stop_on_failure
        )
        for (group, _), rollout in zip(owners, rollouts, strict=True):
            rollout.add_done_callback(partial(self._on_verified, group))

    # The next two methods are called on the thread of the episodes.

    def _on_sampled(self) -> None:
        self._sampled_s = time.monotonic()

    def _on_verified(self, group: _Group, verified: Future[Rollout]) -> None:
        if verified.cancelled():
            return
        try:
            rollout = verified.result()
        except Exception as error:
            with self._lock:
                group.fail(error)
            return
        with self._lock:
            group.verified[rollout.sample] = rollout
            complete = len(group.verified) == len(group.samples)
        if complete:
            self._finish(group)

    def _finish(self, group: _Group) -> None:
        """Have a verified group scored, if that decides whether it is replaced."""
        rollouts = [group.verified[sample] for sample in group.samples]
        if self._dynamic is None or self._scorer is None:
            group.done.set_result(rollouts)
        else:
            self._scorer.submit(self._score, group, rollouts, self._dynamic)

    def _score(self, group: _Group, rollouts: list[Rollout], dynamic: DynamicSampling) -> None:
        """Score a group, and have its replacement sampled if it has no signal."""
        try:
            scored = dynamic.score(rollouts)
            others = dynamic.replacements[group.place]
            if group.round < len(others) and not dynamic.has_signal(scored):
                replacement = _Group(others[group.round], group.place, group.round + 1, group.samples)
                self._submit([replacement])
                group.replacement = replacement
            group.done.set_result(scored)
        except Exception as error:
            group.fail(error)

    # The methods below run on the caller's thread.

    def _shard(self) -> dict[_Key, Rollout]:
        """This rank's rollouts, without tasks and prompts: every rank has them."""
        finished = [group for first in self._groups for group in self._chain(first)]
        if self._scorer:
            self._scorer.shutdown()
        return {
            (group.round, group.place, rollout.sample): replace(rollout, task=_NO_TASK, prompt_ids=())
            for group in finished
            for rollout in group.done.result()
        }

    def _chain(self, group: _Group | None) -> Iterator[_Group]:
        """A group and its replacements, as they are done. Raises what went wrong."""
        while group:
            with self._interrupts.allowed():
                self._episodes.wait(group.done)
            yield group
            group = group.replacement

    def _restored(self, key: _Key, rollout: Rollout) -> Rollout:
        """A rollout of any rank, with its task and prompt."""
        index, place, _ = key
        replacements = self._dynamic.replacements[place] if self._dynamic else ()
        prompt = [self._request.prompts[place], *replacements][index]
        return replace(rollout, task=prompt.task, prompt_ids=prompt.token_ids)
