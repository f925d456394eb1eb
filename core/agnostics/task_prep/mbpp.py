"""MBPP (Austin et al. 2021): a sentence, a function, and asserts; the full set and the sanitized one."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pydantic import AliasChoices, BaseModel, Field

from agnostics.task_prep.problem import FunctionProblem

KEYS = frozenset({"task_id", "code", "test_list"})


class _Record(BaseModel):
    """A record of `mbpp.jsonl`, or of `sanitized-mbpp.json`, in which the text is named `prompt`."""

    task_id: int
    text: str = Field(validation_alias=AliasChoices("text", "prompt"))
    code: str
    test_list: list[str] = Field(min_length=1)
    test_setup_code: str = ""
    test_imports: list[str] = []


def problem(record: Mapping[str, Any]) -> FunctionProblem:
    """The problem in a record of MBPP. Raises pydantic's ValidationError."""
    parsed = _Record.model_validate(record)
    cases = "\n".join(parsed.test_list)
    return FunctionProblem(
        id=f"mbpp/{parsed.task_id}",
        description=parsed.text,
        cases=cases,
        code=parsed.code.replace("\r\n", "\n"),
        entry=_tested_function(cases, parsed.code),
        tests="\n".join([*parsed.test_imports, parsed.test_setup_code.replace("\r\n", "\n"), cases]),
        records=(record,),
    )


def _tested_function(cases: str, code: str) -> str:
    """The name of the function of `code` that the asserts call first; empty if there is none."""
    try:
        with warnings.catch_warnings(action="ignore"):
            tree, asserts = ast.parse(code), ast.parse(cases)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ""
    defined = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    return next((name for name in _called_names(ast.walk(asserts)) if name in defined), "")


def _called_names(nodes: Iterable[ast.AST]) -> Iterator[str]:
    return (node.func.id for node in nodes if isinstance(node, ast.Call) and isinstance(node.func, ast.Name))
