"""The environment: its interface, and what it is given for each episode."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, ParamSpec, Protocol, TypeVar

from agnostics.environments.tools.form import CallForm
from agnostics.types.language import Language
from agnostics.types.rollout import Action, ToolCallRecord
from agnostics.types.task import Frozen, Task
from agnostics.types.verification import Verification
from agnostics.util.settings import PositiveInt

if TYPE_CHECKING:
    from agnostics.math import Equality
    from agnostics.sandbox.session import Session
    from agnostics.traces.runner import TracedRun

State = TypeVar("State")
Result = TypeVar("Result")
Parameters = ParamSpec("Parameters")


class EpisodeLimits(Frozen):
    """The limits of an episode; the defaults are those of the released Code World Model.

    An action has a limit of its own, `rollout.max_completion_tokens`.
    """

    max_turns: PositiveInt = 128
    """Actions in an episode."""
    max_observation_tokens: PositiveInt = 32_768
    """Tokens of an observation; a longer one is cut in the middle."""
    max_context_tokens: PositiveInt = 131_072
    """Tokens of an episode, with its prompt; it ends where no room for another action is left."""

    @property
    def max_prompt_tokens(self) -> int:
        """Tokens of the longest prompt after which there is room for an action."""
        return self.max_context_tokens - 1


@dataclass(frozen=True, slots=True)
class Observation:
    """What an environment answers: the tokens between two actions, (N,), with those of the chat template around it.

    `text` is its content alone. `end_of_turn` are the tokens with which the template ends the answer before it, which
    an action that was truncated lacks. There are no tokens where the policy is behind an endpoint, which gets `role`
    and text.
    """

    text: str
    role: str = "user"
    token_ids: tuple[int, ...] = ()
    end_of_turn: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Transition:
    """What follows from an action: an observation, or the end of the episode.

    `verification` is of the action, for example on the public tests; `reward` is the turn's, for algorithms with
    rewards for each turn. Neither decides the episode: `Environment.verdict` does.
    """

    observation: Observation | None = None
    """None ends the episode."""
    verification: Verification | None = None
    reward: float | None = None
    tool_calls: tuple[ToolCallRecord, ...] = ()


class Episode(Protocol):
    """What an environment has for one episode. Awaiting one of its methods lets other episodes go on."""

    @property
    def task(self) -> Task:
        """The task."""

    @property
    def language(self) -> Language:
        """The language of programs."""

    @property
    def limits(self) -> EpisodeLimits:
        """The limits of the episode."""

    @property
    def call_form(self) -> CallForm:
        """The form of tool calls that the policy's chat template knows."""

    @property
    def sandbox(self) -> str:
        """The name of the sandbox in use."""

    def program_in(self, action: Action) -> str | None:
        """The program in an action, without the policy's reasoning; None if there is none."""

    def user(self, text: str) -> Observation:
        """A message of the user, cut to the limit of an observation, in the tokens of the policy."""

    def tool(self, text: str) -> Observation:
        """The output of a tool, likewise; a message of the user where the chat template has no role for tools."""

    async def verify(self, program: str | None, task: Task | None = None, *, every_test: bool = False) -> Verification:
        """The verification of a program, on the episode's task or on another one.

        With `every_test` the tests after a failed one are run too.
        """

    async def compare_answers(self, prediction: str, gold: str) -> Equality:
        """Whether two mathematical answers are equal; unknown if the comparison was stopped at a limit."""

    async def trace(self, program: str, stdin: str = "", language: Language | None = None) -> TracedRun:
        """A program's run on an input, with its trace; of a language that can be traced, by default the episode's."""

    def count_tokens(self, text: str) -> int:
        """The length of a text in tokens of the policy, in characters where its tokenizer is not known."""

    async def open_session(self, language: Language | None = None) -> Session:
        """A session of a language's sandbox, by default the episode's; it is closed when the episode ends."""

    async def in_thread(
        self, function: Callable[Parameters, Result], *args: Parameters.args, **kwargs: Parameters.kwargs
    ) -> Result:
        """The result of a function that may take long, such as a command of a session."""


class Environment(ABC, Generic[State]):
    """What a policy's actions meet, registered through `agn_environments` and chosen by its name.

    One object serves all episodes; what belongs to one of them is its state. The methods are coroutines on one thread:
    what takes long is awaited. An exception ends the run, but for a SessionError, whose episode has the verdict
    `sandbox_error` and no reward. An episode can be resumed from its actions: given the same ones, an environment
    should answer the same.
    """

    name: str
    limits: EpisodeLimits = EpisodeLimits()
    """The defaults of a run's `episode`."""

    def check_requirements(self) -> None:
        """Raise MissingRequirement if a package is missing; called before anything starts."""

    def system_prompt(self, language: Language, call_form: CallForm) -> str | None:  # noqa: ARG002
        """The system prompt, in place of the chat template's; None keeps that."""
        return None

    def message(self, task: Task, language: Language) -> str | None:  # noqa: ARG002
        """The user's first message; None for the usual one: the language's prompt and the task's statement."""
        return None

    @abstractmethod
    async def start(self, episode: Episode) -> State:
        """The state of an episode before its first action."""

    @abstractmethod
    async def step(self, state: State, action: Action) -> Transition:
        """What follows from an action. The last action that the limits allow has `is_last`."""

    @abstractmethod
    async def verdict(self, state: State) -> Verification:
        """The verification that decides the episode, once it has ended, by whatever limit."""
