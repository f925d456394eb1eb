"""MBPP's own solutions as programs for the tasks of `mbpp-stdio`: a reader and a printer around each, by rule."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from agnostics.types.task import Task, Test
from agnostics_datasets.mbpp_stdio.asserts import parse_calls
from agnostics_datasets.mbpp_stdio.shapes import shape_of

SEPARATOR = "\x1e"
_AROUND = """

import sys as _sys

_SEPARATOR = "\\x1e"


def _scalar(kind, text):
    if kind == "truth value":
        return {"true": True, "false": False}[text]
    return text if kind in ("word", "text", None) else int(text) if text.lstrip("-").isdecimal() else float(text)


def _row(kind, words):
    assert len(words) == int(words[0]) + 1, words
    return [_scalar(kind, word) for word in words[1:]]


def _read(kind, depth, containers):
    if depth == 0:
        return _scalar(kind, next(_lines))
    size = int(next(_lines))
    if depth == 2:
        return containers[0](containers[1](_row(kind, next(_lines).split())) for _ in range(size))
    words = [next(_lines) for _ in range(size)] if kind == "text" else next(_lines).split()
    assert len(words) == size, words
    return containers[0](_scalar(kind, word) for word in words)


def _word(kind, value):
    convert = {"truth value": lambda v: str(bool(v)).lower(), "integer": int, "number": float}
    return str(convert.get(kind, str)(value))


def _print(kind, depth, value):
    if depth == 0:
        return _word(kind, value)
    if depth == 2:
        return "\\n".join(" ".join(_word(kind, one) for one in row) for row in value)
    return ("\\n" if kind == "text" else " ").join(_word(kind, one) for one in value)


_out, _sys.stdout = _sys.stdout, _sys.stderr
for _case in _sys.stdin.read().split(_SEPARATOR):
    _lines = iter(_case.split("\\n"))
    _arguments = [_read(*shape) for shape in _SHAPES]
    assert all(not line for line in _lines)
    print(_print(*_RESULT, _FUNCTION(*_arguments)), file=_out)
"""


def in_one_test(task: Task) -> Task:
    """The task with its tests as one: a third of the time, as Python starts once for each test."""
    inputs, outputs = zip(*((test.input, test.output) for test in task.tests), strict=True)
    return task.model_copy(update={"tests": (Test(input=SEPARATOR.join(inputs), output="".join(outputs)),)})


def reference_program(record: Mapping[str, Any]) -> str:
    """The program that reads the arguments of a problem's function, calls the solution and prints the result.

    It does so for every input of several with `SEPARATOR` between them.
    """
    calls = parse_calls([*record["test_list"], *record.get("challenge_test_list", ())])
    arguments = list(zip(*(call.arguments for call in calls), strict=True))
    shapes = [f"({_shape(values)}, {_containers(values)})" for values in arguments]
    names = {
        "_SHAPES": f"[{', '.join(shapes)}]",
        "_RESULT": f"({_shape([call.result for call in calls])})",
        "_FUNCTION": calls[0].function,
    }
    setup = "\n".join([*record.get("test_imports", ()), record.get("test_setup_code", "")])
    code = f"{setup}\n{record['code']}".replace("\r\n", "\n")
    return code + "\n" + "\n".join(f"{name} = {value}" for name, value in names.items()) + _AROUND


def normalised_code(code: str) -> str:
    """A solution with its own names numbered, to recognise it under other names."""
    with warnings.catch_warnings(action="ignore"):
        tree = ast.parse(code.replace("\r\n", "\n"))
    own: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            own.setdefault(node.name, f"v{len(own)}")
        elif isinstance(node, ast.arg):
            own.setdefault(node.arg, f"v{len(own)}")
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            own.setdefault(node.id, f"v{len(own)}")
    return ast.dump(_Renamed(own).visit(tree))


class _Renamed(ast.NodeTransformer):
    def __init__(self, names: Mapping[str, str]) -> None:
        self._names = names

    def generic_visit(self, node: ast.AST) -> ast.AST:
        for field in ("id", "arg", "name"):
            if (name := getattr(node, field, None)) in self._names:
                setattr(node, field, self._names[str(name)])
        return super().generic_visit(node)


def _shape(values: Sequence[Any]) -> str:
    shape = shape_of(values)
    return f"{shape.scalar!r}, {shape.depth}"


def _containers(values: Sequence[Any]) -> str:
    """The types of a value and of its rows, list or tuple, as the asserts write them."""
    outer = next((value for value in values if isinstance(value, (list, tuple))), [])
    rows = [row for value in values if isinstance(value, (list, tuple)) for row in value]
    inner = next((row for row in rows if isinstance(row, (list, tuple))), [])
    return f"({type(outer).__name__}, {type(inner).__name__})"
