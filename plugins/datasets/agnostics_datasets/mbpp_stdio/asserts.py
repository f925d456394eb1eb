"""The asserts of MBPP as calls: the function, its arguments, and the value that it must return."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from agnostics_datasets.mbpp_stdio.shapes import Unsupported

_REQUEST = re.compile(r"^.{0,80}?\bwrite (?:a|an) (?:python )?function\b", re.IGNORECASE)
_PYTHON = re.compile(
    r"\s*\b(?:by |in )?(?:using )?(?:map and lambda function|lambda function|map function|regex|python)(?=\.?$)",
    re.IGNORECASE,
)
"""The end of a request that names means of Python."""
_UNPARSABLE = (SyntaxError, ValueError, RecursionError, MemoryError)


@dataclass(frozen=True, slots=True)
class Call:
    """A call with literal arguments, and its result."""

    function: str
    arguments: tuple[Any, ...]
    result: Any


def parse_calls(asserts: Sequence[str]) -> list[Call]:
    """The calls of `assert function(arguments) == result` lines. Raises Unsupported for anything else."""
    calls = [_call(text) for text in asserts]
    if len({(call.function, len(call.arguments)) for call in calls}) != 1:
        raise Unsupported("asserts that call several functions, or one with several numbers of arguments")
    return calls


def parameter_names(code: str, call: Call) -> list[str]:
    """The names of the function's parameters in the reference solution; numbered ones if they are not plain."""
    numbered = [f"argument {number}" for number, _ in enumerate(call.arguments, 1)]
    try:
        nodes = list(ast.walk(_parsed(code)))
    except _UNPARSABLE:
        return numbered
    defined = (node for node in nodes if isinstance(node, ast.FunctionDef) and node.name == call.function)
    names = [argument.arg for node in defined for argument in node.args.args]
    return names[: len(numbered)] if len(names) >= len(numbered) else numbered


def as_program(request: str) -> str:
    """What a problem asks for, as a program in any language instead of a function in Python."""
    return _PYTHON.sub("", _REQUEST.sub("Write a program", " ".join(request.split())))


def _call(text: str) -> Call:
    try:
        (statement,) = _parsed(text.strip()).body
        test = statement.test  # type: ignore[attr-defined]
        (compared,) = test.comparators
        if not isinstance(test.ops[0], ast.Eq) or test.left.keywords:
            raise Unsupported("an assert of another form")
        arguments = tuple(ast.literal_eval(argument) for argument in test.left.args)
        return Call(test.left.func.id, arguments, ast.literal_eval(compared))
    except (*_UNPARSABLE, AttributeError, TypeError) as error:
        raise Unsupported("an assert of another form") from error


def _parsed(text: str) -> ast.Module:
    with warnings.catch_warnings(action="ignore"):  # invalid escapes
        return ast.parse(text.replace("\r\n", "\n"))
