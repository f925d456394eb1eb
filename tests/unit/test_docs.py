"""What the documentation lists is what the code has."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from agnostics import hookspecs
from agnostics.train.config import RunConfig
from pydantic import BaseModel

DOCS = Path(__file__).parents[2] / "docs"


def keys(model: type[BaseModel], prefix: str = "") -> Iterator[str]:
    for name, field in model.model_fields.items():
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            yield from keys(field.annotation, f"{prefix}{name}.")
        else:
            yield prefix + name


def test_every_setting_of_a_run_is_documented_and_no_other() -> None:
    documented = re.findall(r"^\| `([a-z_.]+)` \|", (DOCS / "training.md").read_text(), re.MULTILINE)
    assert documented == list(keys(RunConfig))


def test_every_hook_is_documented_and_no_other() -> None:
    documented = re.findall(r"^\| `(agn_\w+)\(", (DOCS / "plugins.md").read_text(), re.MULTILINE)
    assert documented == [name for name in vars(hookspecs) if name.startswith("agn_")]
