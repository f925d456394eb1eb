"""Reference solutions of the problems of EsoLang-Bench, and generators of fresh inputs, by the problem's id."""

from __future__ import annotations

from agnostics_datasets.esolang_references.easy import EASY
from agnostics_datasets.esolang_references.extra_hard import EXTRA_HARD
from agnostics_datasets.esolang_references.hard import HARD
from agnostics_datasets.esolang_references.medium import MEDIUM
from agnostics_datasets.esolang_references.reference import Reference

REFERENCES: dict[str, Reference] = {**EASY, **MEDIUM, **HARD, **EXTRA_HARD}
