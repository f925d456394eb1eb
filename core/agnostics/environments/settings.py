"""The environment of a run or an evaluation, as its settings configure it."""

from __future__ import annotations

from typing import Any

from agnostics.environments.environment import Environment, EpisodeLimits
from agnostics.types.task import Frozen
from agnostics.util.settings import PositiveInt, with_options

EnvironmentOptions = dict[str, bool | int | float | str]
"""The values of an environment's fields, by name."""


class EpisodeSettings(Frozen):
    """Limits of an episode; those that are not given are the environment's own."""

    max_turns: PositiveInt | None = None
    """Actions in an episode."""
    max_observation_tokens: PositiveInt | None = None
    """Tokens of an observation; a longer one is cut in the middle."""
    max_context_tokens: PositiveInt | None = None
    """Tokens of an episode, with its prompt; it ends where no room for another action is left."""

    def within(self, limits: EpisodeLimits, context: int) -> EpisodeLimits:
        """`limits` with those that are set here, for a model that holds `context` tokens."""
        chosen = limits.model_copy(update=self.model_dump(exclude_none=True))
        return chosen.model_copy(update={"max_context_tokens": min(chosen.max_context_tokens, context)})


def configured_environment(environment: Environment[Any], options: EnvironmentOptions) -> Environment[Any]:
    """`environment` with its fields set to `options`. Raises UsageError for an unknown field or a bad value."""
    return with_options(environment, f"environment {environment.name!r}", "environment_options.", options)


def max_sampled_tokens(limits: EpisodeLimits, max_completion_tokens: int) -> int:
    """The most tokens that a policy can sample in an episode."""
    return min(limits.max_turns * max_completion_tokens, limits.max_context_tokens)


def max_length(limits: EpisodeLimits, longest_prompt: int, max_completion_tokens: int) -> int:
    """The most tokens of an episode with its prompt."""
    observations = (limits.max_turns - 1) * limits.max_observation_tokens
    return min(longest_prompt + limits.max_turns * max_completion_tokens + observations, limits.max_context_tokens)
