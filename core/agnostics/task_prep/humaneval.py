"""HumanEval (Chen et al. 2021): the head of a function with its docstring, and a program that checks the body."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

from agnostics.task_prep.problem import Problem

KEYS = frozenset({"task_id", "prompt", "entry_point", "canonical_solution", "test"})


class _Record(BaseModel):
    """A record of `HumanEval.jsonl`."""

    task_id: str
    prompt: str
    entry_point: str
    canonical_solution: str
    test: str


def problem(record: Mapping[str, Any]) -> Problem:
    """The problem in a record of HumanEval. Raises pydantic's ValidationError."""
    read = _Record.model_validate(record)
    return Problem(
        id=read.task_id,
        description=read.prompt.strip(),
        cases=f"def check{read.test.partition('def check')[2]}".rstrip(),
        code=read.prompt + read.canonical_solution,
        entry=read.entry_point,
        tests=f"{read.test}\ncheck({read.entry_point})\n",
        records=(record,),
    )
