"""Comparisons of mathematical answers a second: gold answers with themselves, and with others that they are not."""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any

from agnostics.math import Equality, MathChecker
from agnostics.plugins.manager import load_plugins
from agnostics.sandbox.pool import available_cores

TIMEOUT_S = 600
Compare = Callable[[str, str], "Future[Equality]"]


def gold_answers(paths: Sequence[Path]) -> list[str]:
    """The gold answers of files of the `math` data set."""
    math, _ = load_plugins().dataset("math")
    return [task.tests[0].output for path in paths for task in math.tasks("test", source=str(path))]


def measure_math(paths: Sequence[Path], sandbox: str, slots: int | None) -> dict[str, Any]:
    """The report of `agn bench math`: comparisons a second, and how they end.

    `themselves` are decided by their texts, `themselves_forked` the same in a fork each, `others_forked` with another
    last digit, or one more.
    """
    golds = gold_answers(paths)
    with MathChecker(sandbox, slots) as checker:
        forked = checker._submit_to_slot
        forked("x", "y").result(timeout=TIMEOUT_S)  # so that the slots are warm
        rates = {
            "themselves": _measured(checker.submit, golds, golds),
            "themselves_forked": _measured(forked, golds, golds),
            "others_forked": _measured(forked, [_other(gold) for gold in golds], golds),
        }
        return {"sandbox": checker.mode, "cores": available_cores(), "checks": len(golds), **rates}


def _measured(compare: Compare, predictions: Sequence[str], golds: Sequence[str]) -> dict[str, Any]:
    begun = time.perf_counter()
    results = [compare(*pair) for pair in zip(predictions, golds, strict=True)]
    ends = Counter(result.result(timeout=TIMEOUT_S).value for result in results)
    return {"per_s": round(len(golds) / (time.perf_counter() - begun), 1), **ends}


def _other(gold: str) -> str:
    """The answer with another last digit; with one more number if it has none."""
    changed = re.sub(r"\d(?=\D*$)", lambda digit: str((int(digit[0]) + 1) % 10), gold)
    return changed if changed != gold else f"{gold} + 1"
