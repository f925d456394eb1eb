"""Protection of a slot's Python from what sympy does with texts: it evaluates them.

`sympify` makes an object of a text, such as the digits of a number, with `eval`; `lambdify` compiles a function from an
expression as it prints it, with the names of variables as the answer wrote them.
"""

from __future__ import annotations

import re
import sys
from typing import Any

from sympy import Float, Integer, SympifyError
from sympy.parsing import sympy_parser

_INTEGER = re.compile(r"-?[0-9]+")
_DECIMAL = re.compile(r"-?(?:[0-9]+\.[0-9]*|\.[0-9]+)")


def forbid_evaluation() -> None:
    """Let `sympify` read numbers only, and `lambdify` nothing, for as long as this process lives.

    Modules of sympy that are imported later may use it for names: `sympy.physics.units` does.
    """
    sympy_parser.parse_expr = _number
    sys.addaudithook(_refuse_to_lambdify)


def _number(text: str, *_: Any, **__: Any) -> Integer | Float:
    digits = text.strip()
    if _INTEGER.fullmatch(digits):
        return Integer(digits)
    if _DECIMAL.fullmatch(digits):
        return Float(digits)
    raise SympifyError(digits)


def _refuse_to_lambdify(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "compile" and str(arguments[1]).startswith("<lambdify"):
        raise RuntimeError("an answer is never compiled")
