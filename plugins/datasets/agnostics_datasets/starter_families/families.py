"""All families of `starter-families`, by name."""

from __future__ import annotations

from dataclasses import replace

from agnostics_datasets.starter import FAMILIES as STARTER
from agnostics_datasets.starter.family import TaskFamily
from agnostics_datasets.starter_families import numbers, pairs, series, tables, words

_CLAMP = replace(STARTER["clamp"], parameters={"a": range(10, 30), "b": range(50, 90)})
"""Those of `starter` are all of one split."""
FAMILIES: dict[str, TaskFamily] = {**STARTER, "clamp": _CLAMP} | {
    family.name: family for theme in (numbers, pairs, series, words, tables) for family in theme.FAMILIES
}
