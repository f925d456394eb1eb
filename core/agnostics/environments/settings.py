"""The environment of a run or an evaluation, as its settings configure it."""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from typing import Any, get_type_hints

from pydantic import TypeAdapter, ValidationError

from agnostics.environments.environment import Environment, EpisodeLimits
from agnostics.types.errors import UsageError, unknown_name_error
from agnostics.types.task import Frozen
from agnostics.util.settings import PositiveInt

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
    known: list[str] = [field.name for field in fields(environment)] if is_dataclass(environment) else []
    for name, value in options.items():
        if name not in known:
            raise unknown_name_error(f"option of the environment {environment.name!r}", name, known)
        _check(type(environment), name, value)
    try:
        return replace(environment, **options) if options else environment  # type: ignore[type-var]
    except ValueError as error:
        raise UsageError(f"environment_options: {error}") from error


def _check(environment: type[Environment[Any]], name: str, value: object) -> None:
    """Raise UsageError if the value is not of the field's type."""
    try:
        TypeAdapter(get_type_hints(environment)[name]).validate_python(value, strict=True)
    except ValidationError as error:
        message = error.errors()[0]["msg"]
        raise UsageError(f"environment_options.{name}: {message}, got {value!r}") from error


def max_sampled_tokens(limits: EpisodeLimits, max_completion_tokens: int) -> int:
    """The most tokens that a policy can sample in an episode."""
    return min(limits.max_turns * max_completion_tokens, limits.max_context_tokens)


def max_length(limits: EpisodeLimits, longest_prompt: int, max_completion_tokens: int) -> int:
    """The most tokens of an episode with its prompt."""
    observations = (limits.max_turns - 1) * limits.max_observation_tokens
    return min(longest_prompt + limits.max_turns * max_completion_tokens + observations, limits.max_context_tokens)
