"""HumanEval (Chen et al. 2021): a function signature with its docstring, and a program that checks the body."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

from agnostics.task_prep.problem import FunctionProblem

KEYS = frozenset({"task_id", "prompt", "entry_point", "canonical_solution", "test"})


class _Record(BaseModel):
    """A record of `HumanEval.jsonl`."""

    task_id: str
    prompt: str
    entry_point: str
    canonical_solution: str
    test: str


def problem(record: Mapping[str, Any]) -> FunctionProblem:
    """The problem in a record of HumanEval. Raises pydantic's ValidationError."""
    parsed = _Record.model_validate(record)
    return FunctionProblem(
        id=parsed.task_id,
        description=parsed.prompt.strip(),
        cases=f"def check{parsed.test.partition('def check')[2]}".rstrip(),
        code=parsed.prompt + parsed.canonical_solution,
        entry=parsed.entry_point,
        tests=f"{parsed.test}\ncheck({parsed.entry_point})\n",
        records=(record,),
    )
