"""Rollouts: one completion of a task's prompt, from its tokens to its advantage."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, compress
from pickle import PickleBuffer
from typing import Any, Literal, Self, get_args

from agnostics.types.packed_numbers import pack_floats, pack_integers, unpack
from agnostics.types.task import Task
from agnostics.types.verification import Verification

FinishReason = Literal["stop", "length"]
"""Why a completion ended: with a stop token, or truncated at its maximum length."""

Phase = Literal["train", "eval_before", "eval_during", "eval_after", "eval", "eval_generated_tests"]
"""The part of a run that a rollout belongs to; `eval_generated_tests` verifies again on tests that the model wrote."""
PHASES: tuple[Phase, ...] = get_args(Phase)


@dataclass(frozen=True, slots=True)
class Segment:
    """Consecutive tokens after a prompt, one entry of every field for each token: (N,).

    `mask` is 1 where the policy sampled the token and 0 where something else wrote it (a tool, a user). `logprobs` are
    those of sampled tokens under the policy that sampled them, at the sampling temperature, and 0 where the mask is 0.
    `policy_versions` are the numbers of updates that this policy had had.

    Raises ValueError if the fields differ in length.
    """

    token_ids: tuple[int, ...]
    mask: tuple[int, ...]
    logprobs: tuple[float, ...]
    policy_versions: tuple[int, ...]

    def __post_init__(self) -> None:
        if len({len(self.token_ids), len(self.mask), len(self.logprobs), len(self.policy_versions)}) > 1:
            raise ValueError("token_ids, mask, logprobs and policy_versions of a segment must be equally long")

    @classmethod
    def sampled(cls, token_ids: Sequence[int], logprobs: Sequence[float], policy_versions: Sequence[int]) -> Self:
        """A segment that the policy sampled."""
        return cls(tuple(token_ids), (1,) * len(token_ids), tuple(logprobs), tuple(policy_versions))

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        """Pickle the numbers as buffers of bytes, which protocol 5 can hand out: ranks exchange many segments."""
        integers = map(pack_integers, (self.token_ids, self.mask, self.policy_versions))
        columns = (*integers, pack_floats(self.logprobs))
        return _unpacked, tuple((kind, PickleBuffer(data) if protocol >= 5 else data) for kind, data in columns)


def _unpacked(*columns: tuple[str, bytes | memoryview]) -> Segment:
    token_ids, mask, policy_versions, logprobs = (unpack(*column) for column in columns)
    return Segment(token_ids, mask, logprobs, policy_versions)


@dataclass(frozen=True, slots=True)
class Action:
    """What the policy sampled in one turn, up to its stop token.

    An action from an endpoint has no segment. `is_last` says that the limits allow no other one after it.
    `computed_prompt_tokens` are the tokens before it that the engine computed for it, without those it had cached.
    """

    text: str
    finish_reason: FinishReason = "stop"
    num_tokens: int = 0
    segment: Segment | None = None
    is_last: bool = False
    computed_prompt_tokens: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCallRecord:
    """A call of a tool in an action, with its output. `ok` is false for a call that failed or could not be read."""

    tool: str
    arguments: Mapping[str, str]
    output: str
    ok: bool
    wall_ms: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """An action of an episode, and what the environment answered. Times in milliseconds.

    `verification` and `reward` are those of the action, not of the episode.
    """

    text: str
    num_tokens: int
    finish_reason: FinishReason
    observation: str | None = None
    """The content of the observation; None where the environment gave none."""
    observation_tokens: int = 0
    """Those that the policy has read: 0 where the episode had ended."""
    verification: Verification | None = None
    reward: float | None = None
    tool_calls: tuple[ToolCallRecord, ...] = ()
    sampling_ms: float = 0.0
    environment_ms: float = 0.0
    computed_prompt_tokens: int = 0
    """Tokens before the action that the engine computed for it; 0 where no engine did."""

    @property
    def has_feedback(self) -> bool:
        """Whether the environment did anything with the action: answered, verified, rewarded it or called tools."""
        feedback = (self.observation, self.verification, self.reward)
        return bool(self.tool_calls) or any(given is not None for given in feedback)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rollout:
    """An episode of a task: in the simplest case one completion of its prompt.

    Its fields are filled from top to bottom; `dataclasses.replace` adds to them. Sampling and the environment give
    tokens, turns and the verification, the algorithm rewards and advantage, and the learner what the loss needs. Each
    action is a segment, and each observation between two actions; a rollout from an endpoint or a file has none.
    """

    task: Task
    sample: int
    """Which completion of its prompt this is, counted from 0."""
    prompt_ids: tuple[int, ...] = ()
    """The prompt's token ids: (P,)."""
    segments: tuple[Segment, ...] = ()
    """The segments after the prompt, in order."""
    turns: tuple[Turn, ...] = ()
    """The turns of an episode; none for a completion that was read from a file."""
    finish_reason: FinishReason = "stop"
    """The last action's; `length` too if the context had no room for another one."""
    text: str = ""
    """The last action as text."""
    num_tokens: int = 0
    """Tokens that the policy sampled; as its source reports them where there are no token ids."""
    verification: Verification | None = None
    """The verification that decides the episode; None until it is verified."""
    task_reward: float | None = None
    """The reward of the reward policy; None leaves the rollout out of the loss."""
    reward: float | None = None
    """The task reward with the algorithm's length penalty."""
    advantage: float | None = None
    """None where the rollout is left out of the loss."""
    turn_advantages: tuple[float, ...] | None = None
    """The advantage of each turn's tokens, if they have one of their own; `advantage` is then the first."""
    old_logprobs: tuple[float, ...] | None = None
    """The trainer's log-probabilities of the S sampled tokens before its first update on the batch, (S,); None where
    the importance ratio is against the engine's."""
    reference_logprobs: tuple[float, ...] | None = None
    """The reference model's log-probabilities of the S sampled tokens, (S,); None without a KL term."""
    loss_weight: float = 0.0
    """The weight of each sampled token in the loss of its update."""

    @property
    def is_single_answer(self) -> bool:
        """Whether its turns add nothing to the rollout: one at most, that met nothing but the verdict."""
        return len(self.turns) < 2 and not any(turn.has_feedback for turn in self.turns)

    @property
    def token_ids(self) -> tuple[int, ...]:
        """The tokens after the prompt: (N,)."""
        return tuple(token for segment in self.segments for token in segment.token_ids)

    @property
    def mask(self) -> tuple[int, ...]:
        """1 where the policy sampled the token: (N,)."""
        return tuple(bit for segment in self.segments for bit in segment.mask)

    @property
    def sampled_logprobs(self) -> tuple[float, ...]:
        """The engine's log-probabilities of the S tokens that the policy sampled: (S,)."""
        return tuple(logprob for segment in self.segments for logprob in compress(segment.logprobs, segment.mask))

    @property
    def sampled_versions(self) -> tuple[int, ...]:
        """The versions of the policy that sampled the S tokens: (S,)."""
        return tuple(chain.from_iterable(compress(each.policy_versions, each.mask) for each in self.segments))

    @property
    def token_advantages(self) -> tuple[float, ...]:
        """The advantage of each of the S sampled tokens, (S,): 0 for a rollout that is left out of the loss."""
        if self.turn_advantages is None:
            return (self.advantage or 0.0,) * self.num_sampled
        lengths = [sum(segment.mask) for segment in self.segments if any(segment.mask)]
        turns = zip(self.turn_advantages, lengths, strict=True)
        return tuple(advantage for advantage, length in turns for _ in range(length))

    @property
    def num_sampled(self) -> int:
        """S, the number of tokens that the policy sampled."""
        return sum(bit for segment in self.segments for bit in segment.mask)

    @property
    def policy_version(self) -> int:
        """The version of the policy that sampled the last token; 0 where nothing is known of it."""
        versions = self.sampled_versions
        return versions[-1] if versions else 0

    @property
    def verified(self) -> Verification:
        """The verification. Raises ValueError before there is one."""
        if self.verification is None:
            raise ValueError(f"the rollout of task {self.task.id!r} is not verified yet")
        return self.verification


RolloutGroup = Sequence[Rollout]
"""The rollouts of one prompt, compared with each other."""


@dataclass(frozen=True, slots=True)
class RolloutBatch:
    """The rollouts of some prompts, a group for each.

    `generation_s` is the time from the submission to the last completion, `verification_wait_s` from there to the last
    verdict.
    """

    groups: list[list[Rollout]]
    generation_s: float = 0.0
    verification_wait_s: float = 0.0

    @property
    def rollouts(self) -> list[Rollout]:
        """All rollouts, group by group."""
        return [rollout for group in self.groups for rollout in group]

    @property
    def counted(self) -> list[Rollout]:
        """The scored rollouts that count in the loss: those with an advantage."""
        return [rollout for rollout in self.rollouts if rollout.advantage is not None]
