"""The `cruxeval` adapter: what functions in Python return."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any, ClassVar

from agnostics import Task, Test

from agnostics_datasets.records import Fields, Records

_EXAMPLES: list[dict[str, Any]] = [
    {
        "text": (
            "def f(words, k):\n    n = 0\n    for w in words:\n        if len(w) > k:\n            n += 1\n"
            "    return [n, k]"
        ),
        "call": "f(['ab', 'c'], 1)",
        "output": "[1, 1]",
        "thought": (
            "words is ['ab', 'c'] and k is 1. n is 0.\nw is 'ab': its length 2 is greater than 1, so n becomes 1.\n"
            "w is 'c': its length 1 is not greater than 1, so n stays 1.\nThe list [n, k] is [1, 1]."
        ),
        "frames": (
            """<|call_sep|>{"words": "['ab', 'c']", "k": "1"}<|action_sep|>def f(words, k):\n<|frame_sep|>"""
            """<|line_sep|>{"words": "..", "k": ".."}<|action_sep|>    n = 0\n<|frame_sep|>"""
            """<|line_sep|>{"words": "..", "k": "..", "n": "0"}<|action_sep|>    for w in words:\n<|frame_sep|>"""
            """<|line_sep|>{"words": "..", "k": "..", "n": "..", "w": "'ab'"}<|action_sep|>        if len(w) > k:\n"""
            """<|frame_sep|>"""
            """<|line_sep|>{"words": "..", "k": "..", "n": "..", "w": ".."}<|action_sep|>            n += 1\n"""
            """<|frame_sep|>"""
            """<|line_sep|>{"words": "..", "k": "..", "n": "1", "w": ".."}<|action_sep|>    for w in words:\n"""
            """<|frame_sep|>"""
            """<|line_sep|>{"words": "..", "k": "..", "n": "..", "w": "'c'"}<|action_sep|>        if len(w) > k:\n"""
            """<|frame_sep|>"""
            """<|line_sep|>{"words": "..", "k": "..", "n": "..", "w": ".."}<|action_sep|>    for w in words:\n"""
            """<|frame_sep|>"""
            """<|line_sep|>{"words": "..", "k": "..", "n": "..", "w": ".."}<|action_sep|>    return [n, k]\n"""
            """<|frame_sep|>"""
            """<|return_sep|><|action_sep|>    return [n, k]\n<|arg_sep|>"[1, 1]"<|frame_sep|>"""
        ),
    },
    {
        "text": "def f(s):\n    s = s + s\n    return '-' + s[1:]",
        "call": "f('ox')",
        "output": "'-xox'",
        "thought": "s is 'ox'. s + s is 'oxox'.\ns[1:] is 'xox', without the first letter.\n'-' + 'xox' is '-xox'.",
        "frames": (
            """<|call_sep|>{"s": "'ox'"}<|action_sep|>def f(s):\n<|frame_sep|>"""
            """<|line_sep|>{"s": ".."}<|action_sep|>    s = s + s\n<|frame_sep|>"""
            """<|line_sep|>{"s": "'oxox'"}<|action_sep|>    return '-' + s[1:]\n<|frame_sep|>"""
            """<|return_sep|><|action_sep|>    return '-' + s[1:]\n<|arg_sep|>"'-xox'"<|frame_sep|>"""
        ),
    },
]
"""Functions of our own, which are none of the benchmark's."""


class CruxEvalProblem(Fields):
    """The fields of a problem that are read."""

    id: str
    code: str
    input: str
    output: str


class CruxEval(Records[CruxEvalProblem]):
    """CruxEval (Gu et al. 2024, arXiv 2401.03065) from its `cruxeval.jsonl`, for output prediction.

    800 functions in Python, each with a call and the value that it returns: tasks of the environment
    `trace-prediction`.
    """

    name: ClassVar[str] = "cruxeval"
    description: ClassVar[str] = "CruxEval: what functions in Python return, to be predicted."
    license: ClassVar[str] = "MIT; a benchmark"
    splits: ClassVar[tuple[str, ...]] = ("test",)
    evaluation_only: ClassVar[bool] = True
    size: ClassVar[str] = "800 problems"
    fields: ClassVar[Mapping[str, str]] = {
        "id": "id",
        "code": "statement; metadata.program.text",
        "input": "metadata.program.call, and the texts of its arguments where they are literals",
        "output": "the output of the only test",
    }
    record = CruxEvalProblem

    def task(self, record: CruxEvalProblem, number: int, split: str, seed: int) -> Task:
        """The task of a problem; see `Records.task`."""
        call = f"f({record.input})"
        program: dict[str, Any] = {"language": "python", "text": record.code, "call": call, "examples": _EXAMPLES}
        if (arguments := arguments_of(record.code, call)) is not None:
            program["arguments"] = arguments
        return Task(
            id=f"cruxeval/{record.id}",
            statement=f"What does this call return?\n\n{record.code}\n\n{call}",
            tests=(Test(input="", output=record.output),),
            metadata={"program": program},
        )


def arguments_of(code: str, call: str) -> dict[str, str] | None:
    """The texts of the values of the parameters in a call, by name; None if one is not a literal.

    A set is none: the order of its members is not in its value. Raises ValueError if the call is none of a function.
    """
    try:
        called = ast.parse(call, mode="eval").body
        functions = [node for node in ast.parse(code).body if isinstance(node, ast.FunctionDef)]
    except SyntaxError as error:
        raise ValueError(f"code or input: {error}") from error
    named = [one for one in functions if isinstance(called, ast.Call) and one.name == ast.unparse(called.func)]
    if not named or not isinstance(called, ast.Call) or len(called.args) != len(named[0].args.args):
        raise ValueError(f"input: {call} is no call of a function in the code")
    try:
        values = [repr(ast.literal_eval(argument)) for argument in called.args if not _has_set(argument)]
    except ValueError:
        return None
    names = [parameter.arg for parameter in named[0].args.args]
    return dict(zip(names, values, strict=True)) if len(values) == len(names) else None


def _has_set(node: ast.AST) -> bool:
    return any(isinstance(part, ast.Set) for part in ast.walk(node))
