"""MBPP (Austin et al. 2021): a sentence, a function, and asserts; the whole set and the sanitized one."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pydantic import AliasChoices, BaseModel, Field

from agnostics.task_prep.problem import Problem

KEYS = frozenset({"task_id", "code", "test_list"})


class _Record(BaseModel):
    """A record of `mbpp.jsonl`, or of `sanitized-mbpp.json`, which calls the text a prompt."""

    task_id: int
    text: str = Field(validation_alias=AliasChoices("text", "prompt"))
    code: str
    test_list: list[str] = Field(min_length=1)
    test_setup_code: str = ""
    test_imports: list[str] = []


def problem(record: Mapping[str, Any]) -> Problem:
    """The problem in a record of MBPP. Raises pydantic's ValidationError."""
    read = _Record.model_validate(record)
    cases = "\n".join(read.test_list)
    return Problem(
        id=f"mbpp/{read.task_id}",
        description=read.text,
        cases=cases,
        code=read.code.replace("\r\n", "\n"),
        entry=_tested(cases, read.code),
        tests="\n".join([*read.test_imports, read.test_setup_code.replace("\r\n", "\n"), cases]),
        records=(record,),
    )


def _tested(cases: str, code: str) -> str:
    """The function of `code` that the asserts call first; an empty name where there is none."""
    try:
        with warnings.catch_warnings(action="ignore"):
            tree, asserts = ast.parse(code), ast.parse(cases)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ""
    defined = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    return next((name for name in _called(ast.walk(asserts)) if name in defined), "")


def _called(nodes: Iterable[ast.AST]) -> Iterator[str]:
    return (node.func.id for node in nodes if isinstance(node, ast.Call) and isinstance(node.func, ast.Name))
