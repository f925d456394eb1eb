"""Mathematics: the final answer of a completion, and whether two answers are equal."""

from __future__ import annotations

from agnostics.math.answers import final_answer
from agnostics.math.checker import Equality, MathChecker

__all__ = ["Equality", "MathChecker", "final_answer"]
