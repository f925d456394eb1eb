"""The program of a checker's slot: it compares the two answers on its standard input.

The interpreter is held at its first use of the file `HELD_AT`, with everything imported, and forked for each pair
(docs/languages.md). The verdict is the whole of the standard output, with exit status 0; anything else is none. What
an answer says is never run as Python, which sympy would do with it in two places (`evaluation.py`).
"""

from __future__ import annotations

import gc
import json
import logging
import os
import resource
import sys
from pathlib import Path

from agnostics.math.equivalence import equivalent
from agnostics.math.evaluation import forbid_evaluation

HELD_AT = "answers"
EQUAL, DIFFERENT = b"equal\n", b"different\n"
CPU_S = 2
"""The processor time of a comparison. The longest one of two copies of an answer of MATH-500 takes 0.1 s."""
_WARM_UP = (
    (r"\frac{1}{2}", "0.5"),
    (r"x + 1", "1 + x"),
    (r"\sqrt{8}", r"2\sqrt{2}"),
    (r"\left( 3, \frac{\pi}{2} \right)", r"(3, \pi / 2)"),
    (r"(-\infty, 2] \cup [3, 5)", r"[3, 5) \cup (-\infty, 2]"),
    (r"\begin{pmatrix} 1 & 2 \\ 3 & 4 \end{pmatrix}", r"\begin{bmatrix} 1 & 2 \\ 3 & 2^2 \end{bmatrix}"),
    (r"x \in [-2, 7]", "[-2, 7]"),
    (r"5x - 7y + 11z + 4 = 0", "7y = 5x + 11z + 4"),
    (r"1 \pm \sqrt{19}", r"\{1 + \sqrt{19}, 1 - \sqrt{19}\}"),
    (r"(x - 2)(x + 2)", "x^2 - 4"),
    (r"\sin(2x)", r"2 \sin x \cos x"),
    (r"6 - 5i", r"6 + 5i"),
    (r"50\%", r"\frac{100}{201}"),
    (r"\log_2 8", r"10!"),
    (r"\text{east}", "west"),
    (r"x \le 3", r"3 \ge x"),
)
"""Comparisons that import what sympy imports late, and fill its caches."""


def main() -> None:
    """Hold, read a pair, write the verdict and end."""
    warm_up()
    forbid_evaluation()
    gc.disable()
    gc.freeze()
    with Path(HELD_AT).open("rb"):
        pass
    # A fork of its own from here on.
    _limit_processor_time()
    verdict = _with_outputs_closed()
    prediction, gold = json.loads(sys.stdin.buffer.read())
    os.write(verdict, EQUAL if _are_equal(prediction, gold) else DIFFERENT)
    os._exit(0)  # without the tidying of a large interpreter


def warm_up() -> None:
    """Compare answers of all kinds, silently."""
    logging.disable(logging.CRITICAL)
    for prediction, gold in _WARM_UP:
        equivalent(prediction, gold)


def _are_equal(prediction: str, gold: str) -> bool:
    try:
        return equivalent(prediction, gold)
    except RecursionError:  # nested deeper than answers are
        return False


def _limit_processor_time() -> None:
    """The kernel kills it after `CPU_S` more, where the interpreter is not forked too, whose start takes longer."""
    limit = round(sum(resource.getrusage(resource.RUSAGE_SELF)[:2])) + CPU_S
    resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))


def _with_outputs_closed() -> int:
    """The descriptor of what was the standard output: what a library prints goes nowhere."""
    verdict, nowhere = os.dup(1), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    return verdict
