"""The algorithm of a run: the one that its configuration names, with the settings that the configuration changes."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

from agnostics.algorithms.algorithm import Algorithm
from agnostics.train.config import RunConfig

_FIELDS = {field.name for field in fields(Algorithm)}


def tuned(algorithm: Algorithm, config: RunConfig) -> Algorithm:
    """`algorithm` with every setting of `config` that has a field's name and is given."""
    settings: dict[str, Any] = {**config.rollout.model_dump(), **config.train.model_dump()}
    return replace(algorithm, **{key: settings[key] for key in _FIELDS & settings.keys() if settings[key] is not None})


def written_out(config: RunConfig, algorithm: Algorithm) -> RunConfig:
    """`config` with the settings of `algorithm` in place of those that are not given."""
    parts = {
        name: part.model_copy(update={key: getattr(algorithm, key) for key in _FIELDS & type(part).model_fields.keys()})
        for name, part in {"rollout": config.rollout, "train": config.train}.items()
    }
    return config.model_copy(update=parts)
